-- queue.ready_queues(arns): returns the queues among these that have a message to hand out now, or do not exist. Index:
-- as poll_queues.
create or replace function queue.ready_queues(p_arns text[]) returns table (arn text)
language sql as $$
select k.arn from queue.poll_queues(p_arns) k where k.arn is not null
$$;
