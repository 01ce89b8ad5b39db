-- These functions read the tables of metrics for the metrics report.

-- queue.read_busiest_queues: returns the queues with the most arrivals in the windows that begin in [p_from, p_to), the
-- busiest first. Queues with equal arrivals are in the order of their depth, the greatest depth first. `p_zone` is the
-- zone of windows of days. Uses the index metrics_window_pkey.
create or replace function queue.read_busiest_queues(
    p_account_id text, p_region text, p_window_seconds int, p_from timestamptz, p_to timestamptz, p_limit int,
    p_zone text default 'UTC')
returns table (name text, arrivals bigint, greatest_depth bigint)
language sql stable as $$
select q.name, sum(w.arrivals)::bigint, max(w.depth)
from queue.queues q
join queue.metrics_window w on w.queue_id = q.queue_id and w.window_seconds = p_window_seconds and w.group_id = ''
    and w.starts_at >= p_from and w.starts_at < p_to
    and w.zone = case when p_window_seconds = 86400 then p_zone else '' end
where q.account_id = p_account_id and q.region = p_region
group by 1
order by 2 desc, 3 desc, 1
limit p_limit
$$;

-- queue.read_hot_groups: returns the message groups with the most arrivals in the windows that begin in [p_from, p_to),
-- the busiest first.
--   `p_name` is the queue, and null means all queues.
--   `p_zone` is the zone of windows of days.
--   `arrivals_of_all` is the number of arrivals of all messages of the queues, with or without a group.
-- A window stores its 100 busiest groups, so a group can have had more arrivals than its row shows. Uses the index
-- metrics_window_pkey.
create or replace function queue.read_hot_groups(
    p_account_id text, p_region text, p_name text, p_window_seconds int, p_from timestamptz, p_to timestamptz,
    p_limit int, p_zone text default 'UTC')
returns table (name text, group_id text, arrivals bigint, arrivals_of_all bigint)
language sql stable as $$
with counted as materialized (
    select q.name, w.group_id, sum(w.arrivals)::bigint as arrivals
    from queue.queues q
    join queue.metrics_window w on w.queue_id = q.queue_id and w.window_seconds = p_window_seconds
        and w.starts_at >= p_from and w.starts_at < p_to
        and w.zone = case when p_window_seconds = 86400 then p_zone else '' end
    where q.account_id = p_account_id and q.region = p_region and (p_name is null or q.name = p_name)
    group by 1, 2)
select c.name, c.group_id, c.arrivals, (select sum(a.arrivals)::bigint from counted a where a.group_id = '')
from counted c where c.group_id <> '' and c.arrivals > 0
order by 3 desc, 1, 2
limit p_limit
$$;

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

-- queue.read_queue_history: returns the metrics job's results for a queue's hours that begin in [p_from, p_to), in
-- their order, without groups. The columns `lag_…` describe the time from sending to deletion, in microseconds. The
-- columns are null if no message was deleted in that hour. The first row has a null starts_at. `ends_at` of the first
-- row is the end of the job's last successful run, or null if no run has succeeded. `depth` of the first row is 1 if
-- the queue keeps a history, and otherwise 0. Returns no row if the queue does not exist. Uses the indexes
-- metrics_window_pkey and metrics_latency_pkey.
create or replace function queue.read_queue_history(p_arn text, p_from timestamptz, p_to timestamptz)
returns table (starts_at timestamptz, ends_at timestamptz, arrivals bigint, finished bigint, depth bigint,
    oldest_age_us bigint, lag_p50_us bigint, lag_p99_us bigint)
language sql stable as $$
with one as materialized (select q.queue_id, q.keeps_history from queue.queues q where q.arn = p_arn)
select null::timestamptz,
    (select r.finished_at from queue.metrics_run r
     where r.finished_at is not null and r.error is null order by r.run_id desc limit 1),
    null::bigint, null::bigint, q.keeps_history::int::bigint, null::bigint, null::bigint, null::bigint
from one q
union all
(select w.starts_at, w.ends_at, w.arrivals, w.deletions + w.dead_lettered + w.expired + w.purged + w.moved, w.depth,
    w.oldest_age_us, l.p50_us, l.p99_us
from one q
join queue.metrics_window w on w.queue_id = q.queue_id and w.window_seconds = 3600 and w.group_id = '' and w.zone = ''
    and w.starts_at >= p_from and w.starts_at < p_to
left join queue.metrics_latency l on l.queue_id = q.queue_id and l.window_seconds = 3600 and l.group_id = ''
    and l.zone = '' and l.measure = 'lag' and l.starts_at = w.starts_at and l.count > 0
order by w.starts_at)
$$;
