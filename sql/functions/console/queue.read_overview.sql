-- queue.read_overview: returns the counts of an account's queues, and the queues that may need attention. The first row
-- has a null name and the sums of the last measurements. Each of the next rows, at most 5 * p_limit, describes one
-- queue:
--   `p_limit` queues with the most messages, and as many queues whose first message expires soonest.
--   `p_limit` dead-letter queues with messages.
--   `p_limit` queues that recently moved the most messages to a dead-letter queue.
--   `p_limit` queues of mappings that have failed for the longest time, whose messages may all be in flight.
-- The caller decides with a verdict whether a queue needs attention.
--   `queues` is the number of the account's queues, in the first row.
--   `measured` says whether a queue of the account was measured, in the first row. Otherwise the counts are unknown.
--   `dead_letters` is the number of messages in dead-letter queues, in the first row, in whatever state the messages
--     are. In other rows, the value is 1 if the queue is a dead-letter queue.
--   `measured_at` is the time of the row's measurement. In the first row, the value is the time of the oldest
--     measurement in the installation.
-- In most installations most queues are empty. Therefore the function reads the measurements once, and only the queues
-- that are not empty, or that have had dead letters. Overrides the service's planner settings, which would prevent this
-- plan. Uses the indexes queues_account_id_region_name_key, queues_pkey, queues_dead_letter_arn and
-- event_source_mapping_troubled.
create or replace function queue.read_overview(p_account_id text, p_region text, p_limit int)
returns table (name text, arn text, queues bigint, measured boolean, visible bigint, in_flight bigint, delayed bigint,
    dead_letters bigint, oldest_at timestamptz, measured_at timestamptz, read_at timestamptz)
language sql stable set jit = off set enable_hashjoin = on set enable_seqscan = on set work_mem = '32MB' as $$
with own as materialized (
    select m.queue_id, m.visible, m.in_flight, m.delayed, m.oldest_at, m.dead_lettered,
        m.first_sent_at + q.retention_seconds * interval '1 second' as expires_at
    from queue.measurement m join queue.queues q on q.queue_id = m.queue_id
    where (m.visible > 0 or m.in_flight > 0 or m.delayed > 0 or m.dead_lettered > 0)
        and q.account_id = p_account_id and q.region = p_region),
dead as materialized (
    select o.queue_id, o.visible + o.in_flight + o.delayed as messages
    from own o join queue.queues q on q.queue_id = o.queue_id
    where o.visible + o.in_flight + o.delayed > 0
        and exists (select from queue.queues s where s.dead_letter_arn = q.arn and s.account_id = p_account_id)),
chosen as (
    (select o.queue_id from own o where o.visible > 0 order by o.visible desc limit p_limit)
    union (select o.queue_id from own o order by o.expires_at limit p_limit)
    union (select d.queue_id from dead d order by d.messages desc limit p_limit)
    union (select o.queue_id from own o where o.dead_lettered > 0 order by o.dead_lettered desc limit p_limit)
    union (
        select q.queue_id from queue.event_source_mapping p join queue.queues q on q.arn = p.queue_arn
        where p.account_id = p_account_id and p.region = p_region and p.enabled and p.failing_since is not null
        order by p.failing_since limit p_limit))
select null::text, null::text,
    (select count(*) from queue.queues q where q.account_id = p_account_id and q.region = p_region),
    exists (
        select from queue.queues q join queue.measurement m on m.queue_id = q.queue_id
        where q.account_id = p_account_id and q.region = p_region),
    coalesce(sum(o.visible), 0)::bigint, coalesce(sum(o.in_flight), 0)::bigint, coalesce(sum(o.delayed), 0)::bigint,
    (select coalesce(sum(d.messages), 0)::bigint from dead d),
    min(o.oldest_at) filter (where o.visible > 0), (select min(m.measured_at) from queue.measurement m),
    clock_timestamp()
from own o
union all
(select q.name, q.arn, null, null, m.visible, m.in_flight, m.delayed,
    exists (select from queue.queues s where s.dead_letter_arn = q.arn)::int::bigint, m.oldest_at, m.measured_at,
    clock_timestamp()
from chosen c
cross join lateral (select * from queue.queues x where x.queue_id = c.queue_id) q
cross join lateral (select * from queue.measurement x where x.queue_id = c.queue_id) m
order by q.name)
$$;
