-- queue.is_waiting: returns whether a move task has reached its canary and waits for a user to continue it.
create or replace function queue.is_waiting(p_task queue.move_task) returns boolean
language sql immutable parallel safe
return p_task.status = 'RUNNING' and p_task.continued_at is null and coalesce(p_task.moved >= p_task.canary, false);
