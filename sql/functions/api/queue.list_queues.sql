-- queue.list_queues: returns the queues of the caller's account in every region. A role that can name the queues of
-- every account receives all queues. SQL interface.
create or replace function queue.list_queues()
returns table (name text, fifo boolean, arn text, created_at timestamptz)
language sql stable security definer set search_path = pg_catalog, queue, pg_temp as $$
select q.name, q.fifo, q.arn, q.created_at from queue.caller_account() c, queue.queues q
where q.account_id = c.account_id or not c.is_bound order by q.arn
$$;
