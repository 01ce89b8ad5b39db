-- queue.describe_move_tasks: returns the last tasks of a queue, the newest first.
--   `p_task_id` restricts the result to this task, and null means all tasks.
--   `ids` contains the first 1,000 ids.
--   `state` is running, waiting (for a user to continue it), completed, cancelled or failed.
create or replace function queue.describe_move_tasks(p_source text, p_task_id uuid)
returns table (task_id text, state text, destination_arn text, maximum_per_second int, ids bigint[], filter text,
    canary int, to_move bigint, moved bigint, skipped bigint, looked_at bigint, failure_reason text,
    started_at_ms bigint, continued_at_ms bigint, ended_at_ms bigint)
language sql stable as $$
select t.task_id::text, case when queue.is_waiting(t) then 'waiting' else lower(t.status) end, t.destination_arn,
    t.maximum_per_second, t.ids[1:1000], t.filter::text, t.canary, t.to_move, t.moved, t.skipped, t.looked_at,
    t.failure_reason, queue.epoch_ms(t.started_at), queue.epoch_ms(t.continued_at), queue.epoch_ms(t.ended_at)
from queue.queues q join queue.move_task t on t.queue_id = q.queue_id
where q.arn = p_source and (p_task_id is null or t.task_id = p_task_id)
order by t.started_at desc
$$;
