-- queue.notify_watchers: notifies, at commit, the processes whose long polls wait for a queue. Costs one index probe if
-- no process waits. An unconditional NOTIFY would lock the database at commit and halve the rate of sending. If
-- `p_wakes_its_own` is true, the sending process wakes its long polls itself and keeps its registration. The session
-- names the sending process in the setting queue.watcher. Has no effect if the setting penstock.notify is off
-- (may_notify). Under REPEATABLE READ, does not delete registrations, because PostgreSQL raises an error if another
-- transaction has deleted a row since the snapshot. Skips watcher rows that another sender has locked.
create or replace function queue.notify_watchers(p_queue_id int, p_arn text, p_wakes_its_own boolean default false)
returns void
language plpgsql as $$
declare
    v_since timestamptz := clock_timestamp() - interval '5 seconds';
    v_own uuid := case when p_wakes_its_own then nullif(current_setting('queue.watcher', true), '')::uuid end;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform pg_notify('penstock', p_arn) from queue.watcher r
        where r.queue_id = p_queue_id and r.registered_at > v_since and queue.may_notify() limit 1;
        return;
    end if;
    if not exists (
        select from queue.watcher r
        where r.queue_id = p_queue_id and r.registered_at > v_since and r.watcher is distinct from v_own)
    then
        return;         -- This check usually suffices, and costs a third of a search for rows to delete.
    end if;
    if not queue.may_notify() then
        return;
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
