-- queue.list_move_tasks: returns the last tasks of a dead-letter queue, the newest first. The first row is a header.
-- Its `error` is ResourceNotFoundException or null.
create or replace function queue.list_move_tasks(p_source text, p_limit int)
returns table (error text, task_id text, status text, destination_arn text, maximum_per_second int, moved bigint,
    to_move bigint, failure_reason text, started_at_ms bigint)
language plpgsql stable as $$
#variable_conflict use_column
declare
    v_queue_id int;
begin
    select q.queue_id into v_queue_id from queue.queues q where q.arn = p_source;
    error := case when v_queue_id is null then 'ResourceNotFoundException' end;
    return next;
    return query
    select null::text, t.task_id::text, t.status, t.destination_arn, t.maximum_per_second, t.moved, t.to_move,
        t.failure_reason, queue.epoch_ms(t.started_at)
    from queue.move_task t where t.queue_id = v_queue_id
    order by t.started_at desc limit p_limit;
end $$;
