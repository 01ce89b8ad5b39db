-- queue.list_queues(): all queues. SQL interface.
create or replace function queue.list_queues()
returns table (name text, fifo boolean, arn text, created_at timestamptz)
language sql stable as $$
select q.name, q.fifo, q.arn, q.created_at from queue.queues q order by q.arn
$$;
