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
