-- queue.merge_latency(queues, group, window, from, to, step): the latencies of the stored windows of p_window_seconds
-- that begin in [p_from, p_to), merged into one row a queue, measure and slot. A slot is p_step_seconds long, counted
-- from p_from; null: all of the time is one slot. p_group_id '' is the whole queue. Durations in microseconds.
-- exact: only one window had anything, so its own percentiles are given. Otherwise they come from the merged sketches
-- (DDSketch, gamma = 1.02 / 0.98): within 2 % of the nearest rank. count, mean and max are exact in any case.
-- Index: metrics_latency_pkey. Called by: read_metrics, read_lag, read_lag_heat.
create or replace function queue.merge_latency(
    p_queue_ids int[], p_group_id text, p_window_seconds int, p_from timestamptz, p_to timestamptz,
    p_step_seconds int default null)
returns table (queue_id int, measure text, slot timestamptz, count bigint, mean_us bigint, p50_us bigint, p90_us bigint,
    p95_us bigint, p99_us bigint, max_us bigint, negative_count bigint, exact boolean)
language sql stable as $$
with stored as materialized (
    select l.*, coalesce(date_bin(make_interval(secs => p_step_seconds), l.starts_at, p_from), p_from) as slot
    from queue.metrics_latency l
    where l.window_seconds = p_window_seconds and l.queue_id = any (p_queue_ids) and l.group_id = p_group_id
        and l.starts_at >= p_from and l.starts_at < p_to and l.count > 0),
totals as (
    select s.queue_id, s.measure, s.slot, sum(s.count)::bigint as count, max(s.max_us) as max_us,
        round(sum(s.sum_us) / sum(s.count))::bigint as mean_us, sum(s.negative_count)::bigint as negative_count,
        count(*) = 1 as exact, min(s.p50_us) as p50, min(s.p90_us) as p90, min(s.p95_us) as p95, min(s.p99_us) as p99
    from stored s group by 1, 2, 3),
merged as (
    select s.queue_id, s.measure, s.slot, b.bucket, sum(b.count) as count
    from stored s cross join lateral unnest(s.sketch_buckets, s.sketch_counts) b(bucket, count) group by 1, 2, 3, 4),
ranked as (
    select m.queue_id, m.measure, m.slot, sum(m.count) over (
            partition by m.queue_id, m.measure, m.slot order by m.bucket) as upto,
        case when m.bucket = -2147483648 then 0
             else round(2 * power(1.02::float8 / 0.98, m.bucket) / (1.02 / 0.98 + 1)) end::bigint as us
    from merged m),
percentiles as (
    select t.*, min(r.us) filter (where r.upto >= ceil(0.50 * t.count)) as m50,
        min(r.us) filter (where r.upto >= ceil(0.90 * t.count)) as m90,
        min(r.us) filter (where r.upto >= ceil(0.95 * t.count)) as m95,
        min(r.us) filter (where r.upto >= ceil(0.99 * t.count)) as m99
    from totals t join ranked r using (queue_id, measure, slot)
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
select p.queue_id, p.measure, p.slot, p.count, p.mean_us,
    case when p.exact then p.p50 else least(p.m50, p.max_us) end,
    case when p.exact then p.p90 else least(p.m90, p.max_us) end,
    case when p.exact then p.p95 else least(p.m95, p.max_us) end,
    case when p.exact then p.p99 else least(p.m99, p.max_us) end, p.max_us, p.negative_count, p.exact
from percentiles p
$$;
