-- queue.deleted_queues: returns the queues of a list that no longer exist.
create or replace function queue.deleted_queues(p_arns text[]) returns table (arn text)
language sql stable as $$
select u.arn from unnest(p_arns) u(arn) where not exists (select from queue.queues q where q.arn = u.arn)
$$;
