-- Queues that are measured.

-- queue.deleted_queues: returns the queues of a list that no longer exist.
create or replace function queue.deleted_queues(p_arns text[]) returns table (arn text)
language sql stable as $$
select u.arn from unnest(p_arns) u(arn) where not exists (select from queue.queues q where q.arn = u.arn)
$$;

-- queue.measure_queues: returns the numbers of messages of the next p_limit queues, in a round through all queues.
-- Returns no row once after the last queue, and then begins again. `oldest_age_seconds` is 0 for an empty queue. Locks
-- the worker's row. Costs as much as count_messages for each queue.
create or replace function queue.measure_queues(p_limit int)
returns table (account_id text, region text, name text, visible bigint, in_flight bigint, delayed bigint,
    oldest_age_seconds bigint)
language sql as $$
select q.account_id, q.region, q.name, c.visible, c.in_flight, c.delayed,
    coalesce(greatest(0, date_part('epoch', clock_timestamp() - c.oldest)), 0)::bigint
from queue.next_queues('measure_function', p_limit) n
join queue.queues q on q.queue_id = n.queue_id
cross join lateral queue.count_messages(q.queue_id, q.fifo, q.shards) c
$$;
