-- queue.continue_move_task: lets a task continue after its canary. A rate that is not null replaces the task's rate. A
-- second call has no effect. `continued` is false if the queue has no such task, or if the task has ended. Locks the
-- task's row, and can wait for a step of the task.
create or replace function queue.continue_move_task(p_task_id uuid, p_source text, p_maximum_per_second int)
returns table (continued boolean)
language plpgsql as $$
begin
    update queue.move_task t
    set continued_at = coalesce(t.continued_at, clock_timestamp()),
        maximum_per_second = coalesce(p_maximum_per_second, t.maximum_per_second)
    where t.task_id = p_task_id and t.status = 'RUNNING'
        and t.queue_id = (select q.queue_id from queue.queues q where q.arn = p_source);
    if found then
        perform queue.notify_processes('move-tasks');
    end if;
    return query select found;
end $$;
