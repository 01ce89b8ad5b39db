-- queue.notify_watchers(queue, arn, wakes its own): at commit, notifies the processes whose long polls wait for the
-- queue. If no process waits, the function costs one index probe. An unconditional NOTIFY would take a database-wide
-- lock at commit and halve the rate of sending. p_wakes_its_own: the sending process wakes its long polls itself,
-- without a notification. That process, which the session names in the setting queue.watcher, keeps its registration.
-- If the setting penstock.notify is off (may_notify), the function notifies no process and deletes no registration.
-- Under REPEATABLE READ the function notifies without deleting registrations, because deleting a row that was deleted
-- after the snapshot would be an error. Locks: watcher rows, skipped if another sender has them.
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
        return;         -- the usual case; a third of the cost of a search for rows to delete
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
