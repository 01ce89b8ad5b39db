-- queue.running_move_tasks: returns the message move task to run next for each account. The account's next task is the
-- unlocked task that has not run for the longest time. Tasks whose rate allows a message come first. Each turn of a
-- worker makes one step for each account, so an account with many tasks does not have more steps than an account with
-- one task. Costs one probe of an empty index if no task is running. Locks the tasks until the end of the caller's
-- transaction, which usually follows at once. Skips locked tasks.
create or replace function queue.running_move_tasks() returns table (task_id uuid)
language sql as $$
with running as (
    select t.task_id, t.paced_at, coalesce(q.account_id, '') as account_id,
        t.paced_at > clock_timestamp() - interval '1 second' / t.maximum_per_second as paced
    from queue.move_task t left join queue.queues q on q.queue_id = t.queue_id
    where t.status = 'RUNNING'
        and (not queue.is_waiting(t) or t.paced_at < clock_timestamp() - interval '24 hours'))
select coalesce(
    (select t.task_id from running r join queue.move_task t on t.task_id = r.task_id
     where r.account_id = a.account_id order by r.paced is true, r.paced_at limit 1 for update of t skip locked),
    a.task_id)
from (select distinct on (r.account_id) r.account_id, r.task_id from running r order by r.account_id, r.paced_at) a
order by random()
$$;
