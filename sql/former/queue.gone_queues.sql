-- queue.gone_queues(arns): queue.deleted_queues, under the name that the previous release calls.
-- Called by: the metrics page of the previous release.
create or replace function queue.gone_queues(p_arns text[]) returns table (arn text)
language sql stable as $$
select d.arn from queue.deleted_queues(p_arns) d
$$;
