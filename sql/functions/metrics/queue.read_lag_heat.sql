-- queue.read_lag_heat: returns the 95th percentile of the time from sending to deletion, in microseconds, for each
-- queue and step. A step has p_step_seconds, and the first step starts at p_from. A step without a deletion has no row.
-- `p_zone` is the zone of windows of days. Uses the index metrics_latency_pkey.
create or replace function queue.read_lag_heat(
    p_account_id text, p_region text, p_names text[], p_window_seconds int, p_from timestamptz, p_to timestamptz,
    p_step_seconds int, p_zone text default 'UTC')
returns table (name text, step_at timestamptz, count bigint, p95_us bigint)
language sql stable as $$
select q.name, l.step_at, l.count, l.p95_us
from queue.merge_latency(
    p_queue_ids => (
        select array_agg(k.queue_id) from queue.queues k
        where k.account_id = p_account_id and k.region = p_region and k.name = any (p_names)),
    p_group_id => '', p_window_seconds => p_window_seconds, p_from => p_from, p_to => p_to,
    p_step_seconds => p_step_seconds, p_measure => 'lag', p_zone => p_zone) l
join queue.queues q on q.queue_id = l.queue_id
order by 1, 2
$$;
