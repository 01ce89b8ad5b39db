-- queue.is_waiting(task): returns whether a message move task has moved as many messages as its canary, and no user has
-- continued the task.
create or replace function queue.is_waiting(p_task queue.move_task) returns boolean
language sql immutable parallel safe
return p_task.status = 'RUNNING' and p_task.continued_at is null and coalesce(p_task.moved >= p_task.canary, false);
