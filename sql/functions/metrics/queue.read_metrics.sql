-- queue.read_metrics: returns the stored windows of p_window_seconds that begin in [p_from, p_to), in their order.
--   `p_group_id` is a group, or '' for the whole queue.
--   `p_zone` is the zone of windows of days.
--   `latencies` is JSON by measure, in microseconds (merge_latency).
-- The first row has a null starts_at. The first row has the sums and latencies of all windows, computed_at and ends_at
-- of the newest window, and the ten hottest groups. Returns no row if the queue does not exist. Uses the indexes
-- metrics_window_pkey and metrics_latency_pkey.
create or replace function queue.read_metrics(
    p_arn text, p_window_seconds int, p_group_id text, p_from timestamptz, p_to timestamptz,
    p_zone text default 'UTC')
returns table (starts_at timestamptz, ends_at timestamptz, computed_at timestamptz, arrivals bigint, deliveries bigint,
    redeliveries bigint, deletions bigint, dead_lettered bigint, purged bigint, expired bigint, moved bigint,
    depth bigint, waiting bigint, received bigint, oldest_age_us bigint, visible bigint, in_flight bigint,
    delayed bigint, groups int, top_group_share float8, gini float8, latencies text, hot_groups text)
language sql stable as $$
with one as materialized (
    select q.*, case when p_window_seconds = 86400 then p_zone else '' end as zone
    from queue.queues q where q.arn = p_arn),
windows as materialized (
    select w.* from one q join queue.metrics_window w on w.queue_id = q.queue_id
    where w.window_seconds = p_window_seconds and w.group_id = p_group_id
        and w.starts_at >= p_from and w.starts_at < p_to and w.zone = q.zone),
sums as (
    select coalesce(sum(w.arrivals), 0)::bigint as arrivals, coalesce(sum(w.deliveries), 0)::bigint as deliveries,
        coalesce(sum(w.redeliveries), 0)::bigint as redeliveries, coalesce(sum(w.deletions), 0)::bigint as deletions,
        coalesce(sum(w.dead_lettered), 0)::bigint as dead_lettered, coalesce(sum(w.purged), 0)::bigint as purged,
        coalesce(sum(w.expired), 0)::bigint as expired, coalesce(sum(w.moved), 0)::bigint as moved
    from windows w)
select null, newest.ends_at, newest.computed_at, s.*, null, null, null, null, null, null, null, null, null, null,
    (select jsonb_object_agg(l.measure, to_jsonb(l) - array['queue_id', 'measure', 'step_at'])::text
     from queue.merge_latency(array[q.queue_id], p_group_id, p_window_seconds, p_from, p_to, p_zone => p_zone) l),
    (select jsonb_agg(to_jsonb(g) - array['name', 'arrivals_of_all'])::text
     from queue.read_hot_groups(
         p_account_id => q.account_id, p_region => q.region, p_name => q.name, p_window_seconds => p_window_seconds,
         p_from => p_from, p_to => p_to, p_limit => 10, p_zone => p_zone) g
     where p_group_id = '')
from one q
cross join sums s
left join lateral (
    select w.ends_at, w.computed_at from queue.metrics_window w
    where w.window_seconds = p_window_seconds and w.queue_id = q.queue_id and w.group_id = p_group_id
        and w.zone = q.zone
    order by w.starts_at desc limit 1) newest on true
union all
select w.starts_at, w.ends_at, w.computed_at, w.arrivals, w.deliveries, w.redeliveries, w.deletions, w.dead_lettered,
    w.purged, w.expired, w.moved, w.depth, w.waiting, w.received, w.oldest_age_us, w.visible, w.in_flight, w.delayed,
    w.groups, w.top_group_share, w.gini, l.latencies, null
from windows w
cross join lateral (
    select jsonb_object_agg(l.measure, jsonb_build_object(
            'count', l.count, 'mean_us', round(l.sum_us / l.count), 'p50_us', l.p50_us, 'p90_us', l.p90_us,
            'p95_us', l.p95_us, 'p99_us', l.p99_us, 'max_us', l.max_us, 'negative_count', l.negative_count,
            'exact', true))::text as latencies
    from queue.metrics_latency l
    where l.window_seconds = p_window_seconds and l.queue_id = w.queue_id and l.group_id = p_group_id
        and l.measure in ('wait', 'processing', 'lag') and l.starts_at = w.starts_at
        and l.zone = w.zone and l.count > 0) l
order by 1 nulls first
$$;
