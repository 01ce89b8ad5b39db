-- queue.running_move_tasks(): the message move tasks that run, the longest neglected first. Costs one look into an empty index when there is none.
-- Index: move_task_running. Called by: the worker `move`.
create or replace function queue.running_move_tasks() returns table (task_id uuid)
language sql stable as $$
select t.task_id from queue.move_task t where t.status = 'RUNNING' order by t.paced_at
$$;
