-- queue.running_move_tasks(): the message move tasks that run, first the one that was worked on longest ago. Without
-- any it costs one probe of an empty index. Index: move_task_running. Called by: the worker `move`.
create or replace function queue.running_move_tasks() returns table (task_id uuid)
language sql stable as $$
select t.task_id from queue.move_task t where t.status = 'RUNNING' order by t.paced_at
$$;
