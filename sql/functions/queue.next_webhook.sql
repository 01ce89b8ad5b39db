-- queue.next_webhook(watcher): milliseconds until there may be something to deliver (0: now; no row: nothing pending).
-- With a watcher, and nothing to do now, this process is notified of the next webhook: on the channel `penstock`, with
-- `webhooks` in place of an ARN; good for five seconds and one notification. A webhook committed at this very moment
-- may be missed: look again soon in any case. Index: webhook_due, lane_next_at. Called by: the worker `deliver`.
create or replace function queue.next_webhook(p_watcher uuid) returns table (wait_ms int)
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_next timestamptz;
begin
    v_next := least(
        (select w.due_at from queue.webhook w where w.state = 'pending' and not w.waiting order by w.due_at limit 1),
        (select l.next_at from queue.lane l where l.next_at < 'infinity' order by l.next_at limit 1));
    if p_watcher is not null and (v_next is null or v_next > v_now) then
        insert into queue.watcher (queue_id, watcher)
        select 0, p_watcher
        where not exists (      -- it is good for five seconds, and who looks less often than each two finds none here
            select from queue.watcher r
            where r.queue_id = 0 and r.watcher = p_watcher and r.registered_at > v_now - interval '2 seconds')
        on conflict do nothing;
    end if;
    if v_next is not null then
        return query select least(3600000, greatest(0, ceil(extract(epoch from v_next - v_now) * 1000)))::int;
    end if;
end $$;
