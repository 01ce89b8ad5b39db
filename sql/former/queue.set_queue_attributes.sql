-- queue.set_queue_attributes(arn, attributes): leaves the queue's subscriptions as they are.
-- Called by: SetQueueAttributes, PATCH /v1/queues/{name} of the previous release.
create or replace function queue.set_queue_attributes(p_arn text, p_attributes jsonb)
returns table (error text)
language sql as $$
select * from queue.set_queue_attributes(p_arn, p_attributes, null, null)
$$;
