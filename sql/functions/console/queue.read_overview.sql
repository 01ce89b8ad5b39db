-- queue.read_overview: returns the counts of an account's queues, and the queues that may need attention. The first row
-- has a null name and the sums of the last measurements. Each of the next rows, at most 4 * p_limit, describes one
-- queue:
--   `p_limit` queues with the most messages, and as many queues with the oldest message.
--   `p_limit` dead-letter queues with messages.
--   `p_limit` queues that recently moved the most messages to a dead-letter queue.
-- The caller decides with a verdict whether a queue needs attention.
--   `queues` is the number of the account's queues, in the first row.
--   `measured` is the number of measured queues, in the first row. The counts are sums over these queues.
--   `dead_letters` is the number of messages in dead-letter queues, in the first row. In other rows, the value is 1 if
--     the queue is a dead-letter queue.
--   `measured_at` is the time of the oldest measurement in the row.
-- All empty queues share one row of `own`, because in most installations most queues are empty. Reads the measurements
-- of the account's queues once. Overrides the service's planner settings, which would prevent this plan.
create or replace function queue.read_overview(p_account_id text, p_region text, p_limit int)
returns table (name text, arn text, queues bigint, measured bigint, visible bigint, in_flight bigint, delayed bigint,
    dead_letters bigint, oldest_at timestamptz, measured_at timestamptz, read_at timestamptz)
language sql stable set jit = off set enable_hashjoin = on set enable_seqscan = on set work_mem = '32MB' as $$
with own as materialized (
    select case when m.visible > 0 or m.dead_lettered > 0 then q.queue_id end as queue_id, count(*) as queues,
        count(m.measured_at) as measured, sum(m.visible)::bigint as visible, sum(m.in_flight)::bigint as in_flight,
        sum(m.delayed)::bigint as delayed, min(m.oldest_at) as oldest_at, min(m.measured_at) as measured_at,
        max(m.dead_lettered) as dead_lettered
    from queue.queues q left join queue.measurement m on m.queue_id = q.queue_id
    where q.account_id = p_account_id and q.region = p_region
    group by 1),
dead as materialized (
    select m.queue_id, m.visible
    from (
        select distinct s.dead_letter_arn as arn from queue.queues s
        where s.account_id = p_account_id and s.region = p_region and s.dead_letter_arn is not null) d
    join queue.queues q on q.arn = d.arn
    join queue.measurement m on m.queue_id = q.queue_id
    where q.account_id = p_account_id and q.region = p_region and m.visible > 0),
chosen as (
    (select o.queue_id from own o where o.queue_id is not null and o.visible > 0 order by o.visible desc limit p_limit)
    union (select o.queue_id from own o where o.queue_id is not null and o.visible > 0 order by o.oldest_at
        limit p_limit)
    union (select d.queue_id from dead d order by d.visible desc limit p_limit)
    union (
        select o.queue_id from own o where o.queue_id is not null and o.dead_lettered > 0
        order by o.dead_lettered desc limit p_limit))
select null::text, null::text, coalesce(sum(o.queues), 0)::bigint, coalesce(sum(o.measured), 0)::bigint,
    sum(o.visible)::bigint, sum(o.in_flight)::bigint, sum(o.delayed)::bigint,
    (select coalesce(sum(d.visible), 0)::bigint from dead d),
    min(o.oldest_at) filter (where o.visible > 0), min(o.measured_at), clock_timestamp()
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
