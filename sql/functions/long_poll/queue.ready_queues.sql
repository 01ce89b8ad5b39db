-- queue.ready_queues: returns the queues of a list that have a message to receive now, or that do not exist.
create or replace function queue.ready_queues(p_arns text[]) returns table (arn text)
language sql as $$
select k.arn from queue.poll_queues(p_arns) k where k.arn is not null
$$;
