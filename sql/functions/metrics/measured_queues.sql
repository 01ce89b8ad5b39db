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

-- queue.read_measurements: returns the last measurements of the p_limit oldest queues. The last row has no ARN. The
-- last row combines all other queues, with the sum of their messages and the greatest age. The last row is missing if
-- the result contains all queues. `measured_seconds` is the age of the measurement.
create or replace function queue.read_measurements(p_limit int)
returns table (arn text, visible bigint, in_flight bigint, delayed bigint, oldest_age_seconds double precision,
    noisy_groups bigint, dead_lettered bigint, expired bigint, measured_seconds double precision)
language sql stable as $$
with numbered as materialized (
    select q.arn, m.*, row_number() over (order by m.queue_id) <= p_limit as named
    from queue.measurement m join queue.queues q on q.queue_id = m.queue_id)
select n.arn, n.visible, n.in_flight, n.delayed,
    coalesce(greatest(0, extract(epoch from clock_timestamp() - n.oldest_at)), 0)::double precision,
    n.noisy_groups, n.dead_lettered, n.expired, extract(epoch from clock_timestamp() - n.measured_at)::double precision
from numbered n where n.named
union all
select null, sum(n.visible)::bigint, sum(n.in_flight)::bigint, sum(n.delayed)::bigint,
    coalesce(greatest(0, extract(epoch from clock_timestamp() - min(n.oldest_at))), 0)::double precision,
    sum(n.noisy_groups), sum(n.dead_lettered)::bigint, sum(n.expired)::bigint,
    extract(epoch from clock_timestamp() - min(n.measured_at))::double precision
from numbered n where not n.named having count(*) > 0
$$;

-- queue.read_installation: returns the last measurements of the installation (measure_installation).
create or replace function queue.read_installation() returns table (name text, label text, value double precision)
language sql stable as $$
select r.name, r.label, r.value from queue.reading r
$$;
