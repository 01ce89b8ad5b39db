-- queue.merge_latency: returns the merged latencies of the windows that begin in [p_from, p_to), with a row for each
-- queue, measure and step.
--   `p_group_id` is a group, or '' for the whole queue.
--   `p_step_seconds` is the length of a step, counted from p_from. Null means that the whole time is one step.
--   `p_measure` is null for all measures.
--   `p_zone` is the zone of windows of days.
--   `exact` is true if only one window has values, so the row has that window's percentiles.
-- Durations are in microseconds. If several windows have values, the percentiles come from merged sketches (DDSketch,
-- gamma = 1.02 / 0.98), within 2 % of the nearest rank. `count`, `mean` and `max` are always exact. Uses the index
-- metrics_latency_pkey.
create or replace function queue.merge_latency(
    p_queue_ids int[], p_group_id text, p_window_seconds int, p_from timestamptz, p_to timestamptz,
    p_step_seconds int default null, p_measure text default null, p_zone text default 'UTC')
returns table (queue_id int, measure text, step_at timestamptz, count bigint, mean_us bigint, p50_us bigint,
    p90_us bigint, p95_us bigint, p99_us bigint, max_us bigint, negative_count bigint, exact boolean)
language sql stable as $$
with stored as materialized (
    select l.queue_id, l.measure collate "C" as measure, l.count, l.sum_us, l.p50_us, l.p90_us, l.p95_us, l.p99_us,
        l.max_us, l.negative_count, l.sketch_buckets, l.sketch_counts,
        coalesce(date_bin(make_interval(secs => p_step_seconds), l.starts_at, p_from), p_from) as step_at
    from queue.metrics_latency l
    where l.window_seconds = p_window_seconds and l.queue_id = any (p_queue_ids) and l.group_id = p_group_id
        and l.starts_at >= p_from and l.starts_at < p_to and l.count > 0
        and l.zone = case when p_window_seconds = 86400 then p_zone else '' end
        and (p_measure is null or l.measure = p_measure)),
merged as (
    select s.queue_id, s.measure, s.step_at, b.bucket, sum(b.count) as count
    from stored s cross join lateral unnest(s.sketch_buckets, s.sketch_counts) b(bucket, count) group by 1, 2, 3, 4),
ranked as (
    select m.queue_id, m.measure, m.step_at, sum(m.count) over step as whole,
        sum(m.count) over (step order by m.bucket) as upto,
        -- This bucket counts durations of 0.
        case when m.bucket = -2147483648 then 0
             else round(2 * power(1.02::float8 / 0.98, m.bucket) / (1.02 / 0.98 + 1)) end::bigint as us
    from merged m window step as (partition by m.queue_id, m.measure, m.step_at)),
percentiles as (
    select r.queue_id, r.measure, r.step_at, min(r.us) filter (where r.upto >= ceil(0.50 * r.whole)) as p50,
        min(r.us) filter (where r.upto >= ceil(0.90 * r.whole)) as p90,
        min(r.us) filter (where r.upto >= ceil(0.95 * r.whole)) as p95,
        min(r.us) filter (where r.upto >= ceil(0.99 * r.whole)) as p99
    from ranked r group by 1, 2, 3),
-- Combines the rows by grouping. For a join, the planner would expect one row on each side, and would therefore loop
-- over the second side.
parts as (
    select s.queue_id, s.measure, s.step_at, s.count, s.sum_us, s.max_us, s.negative_count, s.p50_us, s.p90_us,
        s.p95_us, s.p99_us, null::bigint as p50, null::bigint as p90, null::bigint as p95, null::bigint as p99
    from stored s
    union all
    select p.queue_id, p.measure, p.step_at, null, null, null, null, null, null, null, null, p.p50, p.p90, p.p95, p.p99
    from percentiles p)
select a.queue_id, a.measure, a.step_at, sum(a.count)::bigint, round(sum(a.sum_us) / sum(a.count))::bigint,
    case when count(a.count) = 1 then max(a.p50_us) else least(max(a.p50), max(a.max_us)) end,
    case when count(a.count) = 1 then max(a.p90_us) else least(max(a.p90), max(a.max_us)) end,
    case when count(a.count) = 1 then max(a.p95_us) else least(max(a.p95), max(a.max_us)) end,
    case when count(a.count) = 1 then max(a.p99_us) else least(max(a.p99), max(a.max_us)) end,
    max(a.max_us), sum(a.negative_count)::bigint, count(a.count) = 1
from parts a group by 1, 2, 3
$$;
