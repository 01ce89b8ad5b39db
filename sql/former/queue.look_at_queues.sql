-- queue.look_at_queues(arns, seen): queue.poll_queues, under the name that the previous release calls.
-- Called by: the long polls of the previous release.
create or replace function queue.look_at_queues(p_arns text[], p_seen text default null)
returns table (arn text, snapshot text, wait_ms int)
language sql as $$
select k.arn, k.snapshot, k.wait_ms from queue.poll_queues(p_arns, p_seen) k
$$;
