-- queue.notify_watchers(queue, arn, wakes its own): at commit, wakes those who wait for the queue. Costs one index probe
-- when nobody does: an unconditional NOTIFY takes a database-wide lock at commit and halves the rate of sending.
-- p_wakes_its_own: the process that sends wakes those who wait in it by itself. Its registration, which a session names
-- in the setting queue.watcher, is left as it is.
-- Under REPEATABLE READ, where a row that went since the snapshot is an error, it notifies without removing them.
-- Locks: watcher rows, skipped when another sender has them. Called by: everything that makes a message visible.
drop function if exists queue.notify_watchers(int, text);
create or replace function queue.notify_watchers(p_queue_id int, p_arn text, p_wakes_its_own boolean default false)
returns void
language plpgsql as $$
declare
    v_since timestamptz := clock_timestamp() - interval '5 seconds';
    v_own uuid := case when p_wakes_its_own then nullif(current_setting('queue.watcher', true), '')::uuid end;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform pg_notify('penstock', p_arn) from queue.watcher r
        where r.queue_id = p_queue_id and r.registered_at > v_since limit 1;
        return;
    end if;
    if not exists (
        select from queue.watcher r
        where r.queue_id = p_queue_id and r.registered_at > v_since and r.watcher is distinct from v_own)
    then
        return;         -- nearly always; a third of what the search for rows to delete costs
    end if;
    delete from queue.watcher w
    where w.ctid = any (array(
        select r.ctid from queue.watcher r
        where r.queue_id = p_queue_id and r.registered_at > v_since and r.watcher is distinct from v_own
        for update skip locked));
    if found then
        perform pg_notify('penstock', p_arn);
    end if;
end $$;
