-- queue.watch_queues(arns, watcher): this process waits for these queues: the next sender notifies the channel
-- `penstock` with the queue's ARN. Good for five seconds and one notification. Look at the queue again after this
-- has committed. Called by: the long-poll hub.
create or replace function queue.watch_queues(p_arns text[], p_watcher uuid) returns table (arn text)
language sql as $$
insert into queue.watcher (queue_id, watcher)
select q.queue_id, p_watcher from queue.queues q where q.arn = any (p_arns)
on conflict do nothing
returning (select q.arn from queue.queues q where q.queue_id = watcher.queue_id)
$$;
