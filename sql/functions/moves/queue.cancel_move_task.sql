-- queue.cancel_move_task: ends a running task after its current step. Moved messages stay in the destination.
--   `moved` is the number of moved messages.
--   `error` is ResourceNotFoundException or null.
--   `detail` is SourceArn if the queue does not exist. `detail` is TaskHandle if the queue has no such task, or if the
--     task has ended.
-- Locks the task's row. The wait is short, because a task's step does not wait for locks.
create or replace function queue.cancel_move_task(p_task_id uuid, p_source text)
returns table (moved bigint, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_queue_id int;
    v_moved bigint;
begin
    select q.queue_id into v_queue_id from queue.queues q where q.arn = p_source;
    update queue.move_task t set status = 'CANCELLED', ended_at = clock_timestamp()
    where t.task_id = p_task_id and t.queue_id = v_queue_id and t.status = 'RUNNING'
    returning t.moved into v_moved;
    return query
    select v_moved, case when v_moved is null then 'ResourceNotFoundException' end,
        case when v_queue_id is null then 'SourceArn' when v_moved is null then 'TaskHandle' end;
end $$;
