-- queue.notify_watchers(queue, arn): at commit, wakes those who wait for the queue. Costs one index probe when nobody
-- does: an unconditional NOTIFY takes a database-wide lock at commit and halves the rate of sending.
-- Under REPEATABLE READ, where a row that went since the snapshot is an error, it notifies without removing them.
-- Locks: watcher rows, skipped when another sender has them. Called by: everything that makes a message visible.
create or replace function queue.notify_watchers(p_queue_id int, p_arn text) returns void
language plpgsql as $$
declare
    v_since timestamptz := clock_timestamp() - interval '5 seconds';
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform pg_notify('penstock', p_arn) from queue.watcher r
        where r.queue_id = p_queue_id and r.registered_at > v_since limit 1;
        return;
    end if;
    if not exists (select from queue.watcher r where r.queue_id = p_queue_id and r.registered_at > v_since) then
        return;         -- nearly always; a third of what the search for rows to delete costs
    end if;
    delete from queue.watcher w
    where w.ctid = any (array(
        select r.ctid from queue.watcher r
        where r.queue_id = p_queue_id and r.registered_at > v_since
        for update skip locked));
    if found then
        perform pg_notify('penstock', p_arn);
    end if;
end $$;
