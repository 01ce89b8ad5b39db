-- Computes queue.metrics_window and queue.metrics_latency in plain SQL from their definitions, to test the metrics job and
-- to compare its costs. The script reads the job's views, and writes the temporary tables oracle_window and
-- oracle_latency. Settings of the session define the span:
--     set oracle.from_at = '2026-03-28 23:00+00'; set oracle.to_at = …    the first moments of two days
--     set oracle.timezone = 'Europe/Berlin'                               the days' time zone
-- The script must run in one repeatable-read transaction, so that all statements see one state and one now().
--
-- The results contain the windows that lie in the span and begin no later than now(). A window without events that ends
-- with an empty queue has no row. The results cover existing queues with a history. A window has at most 100 groups: the
-- groups with the most arrivals, and then by name (bytes).

create function pg_temp.microseconds(p_from timestamptz, p_to timestamptz) returns bigint language sql immutable
return (date_part('epoch', p_to - p_from) * 1000000)::bigint;    -- exact up to 285 years

create temp table oracle_span as
select current_setting('oracle.from_at')::timestamptz as from_at, current_setting('oracle.to_at')::timestamptz as to_at;

-- The windows of each minute. Days start at midnight in the zone, and hours start at full hours in UTC. An hour can
-- begin before the span.
create temp table oracle_calendar as
select z.size, m.minute, w.starts_at, w.ends_at, w.starts_at >= s.from_at and w.ends_at <= s.to_at as whole
from oracle_span s
cross join generate_series(s.from_at - interval '1 minute', s.to_at - interval '1 minute', interval '1 minute') m(minute)
cross join (values (60), (3600), (86400)) z(size)
cross join lateral (select (m.minute at time zone current_setting('oracle.timezone'))::date as day) d
cross join lateral (
    select date_bin('1 minute', m.minute, timestamptz 'epoch') as starts_at,
        date_bin('1 minute', m.minute, timestamptz 'epoch') + interval '1 minute' as ends_at where z.size = 60
    union all
    select date_bin('1 hour', m.minute, timestamptz 'epoch'),
        date_bin('1 hour', m.minute, timestamptz 'epoch') + interval '1 hour' where z.size = 3600
    union all
    select d.day::timestamp at time zone current_setting('oracle.timezone'),
        (d.day + 1)::timestamp at time zone current_setting('oracle.timezone') where z.size = 86400) w;
analyze oracle_calendar;

-- Messages that existed in the span or later. A row is recorded after the message's end. An additional day allows for
-- clocks that were set back.
create temp table oracle_message as
select m.queue_id, m.group_id collate "C" as group_id, m.entered_at, m.first_received_at, m.finished_at,
    m.redelivered_at, m.receive_count, m.outcome, m.state
from (
    select queue_id, group_id, entered_at, first_received_at, finished_at, redelivered_at, receive_count, outcome,
        null as state
    from queue.finished_message
    where recorded_at >= (select s.from_at from oracle_span s) - interval '1 day'
    union all
    select queue_id, group_id, entered_at, first_received_at, finished_at, redelivered_at, receive_count, outcome, state
    from queue.live_message) m, oracle_span s
where m.queue_id in (select q.queue_id from queue.queues q where q.keeps_history)
    and least(m.entered_at, m.first_received_at, m.finished_at) < s.to_at
    and (m.entered_at >= s.from_at or m.first_received_at >= s.from_at or m.finished_at >= s.from_at
        or s.from_at <= any (m.redelivered_at) or m.finished_at is null);
analyze oracle_message;

-- The events of each minute. A message is in the queue from entered_at until finished_at, or never if finished_at is
-- earlier. The message waits until it is received or ends. Earlier messages count in the minute before the span.
-- Redeliveries at unknown times count in the minute of the message's end, or in the minute of the run.
create temp table oracle_minute as
with event as (
    select m.queue_id, m.group_id, greatest(date_bin('1 minute', e.at, timestamptz 'epoch'), s.before) as minute,
        case when e.at >= s.from_at then e.arrivals end as arrivals,
        case when e.at >= s.from_at then e.first_deliveries end as first_deliveries,
        case when e.at >= s.from_at then e.redeliveries end as redeliveries,
        case when e.at >= s.from_at then e.ended end as ended,
        e.depth, e.waiting
    from oracle_message m
    cross join (select x.*, x.from_at - interval '1 minute' as before from oracle_span x) s
    cross join lateral (select least(m.finished_at, m.first_received_at) as at) wait_over
    cross join lateral (
        values
        (m.entered_at, 1, 0, 0, null, case when m.finished_at < m.entered_at then 0 else 1 end,
            case when wait_over.at < m.entered_at then 0 else 1 end),
        (m.first_received_at, 0, 1, 0, null, 0,
            case when m.first_received_at = wait_over.at and wait_over.at >= m.entered_at then -1 else 0 end),
        (coalesce(m.finished_at, now()), 0, 0,
            greatest(m.receive_count - 1 - coalesce(cardinality(m.redelivered_at), 0), 0), m.outcome,
            case when m.finished_at >= m.entered_at then -1 else 0 end,
            case when m.first_received_at = wait_over.at or m.finished_at is null or wait_over.at < m.entered_at
                then 0 else -1 end)
        union all
        select again.at, 0, 0, 1, null, 0, 0 from unnest(m.redelivered_at) again(at))
        e(at, arrivals, first_deliveries, redeliveries, ended, depth, waiting)
    where e.at < s.to_at)
select e.queue_id, e.group_id, e.minute, sum(e.arrivals)::int as arrivals,
    sum(e.first_deliveries)::int as first_deliveries, sum(e.redeliveries)::int as redeliveries,
    (count(*) filter (where e.ended = 'deleted'))::int as deletions,
    (count(*) filter (where e.ended = 'dead_lettered'))::int as dead_lettered,
    (count(*) filter (where e.ended = 'purged'))::int as purged,
    (count(*) filter (where e.ended = 'expired'))::int as expired,
    (count(*) filter (where e.ended = 'moved'))::int as moved, sum(e.depth)::int as depth, sum(e.waiting)::int as waiting
from event e group by e.queue_id, e.group_id, e.minute;
analyze oracle_minute;

-- The events of all windows, for queues ('') and groups, with the messages at the windows' ends.
create temp table oracle_sum as
with part as (
    select k.queue_id, coalesce(k.group_id, '') as group_id, k.minute, k.arrivals, k.first_deliveries, k.redeliveries,
        k.deletions, k.dead_lettered, k.purged, k.expired, k.moved, k.depth, k.waiting
    from oracle_minute k where k.group_id is not null
    union all
    select k.queue_id, '', k.minute, k.arrivals, k.first_deliveries, k.redeliveries, k.deletions, k.dead_lettered,
        k.purged, k.expired, k.moved, k.depth, k.waiting
    from oracle_minute k),
total as (
    select c.size, p.queue_id, p.group_id, c.starts_at, c.ends_at, c.whole,
        sum(p.arrivals) as arrivals, sum(p.first_deliveries) as first_deliveries, sum(p.redeliveries) as redeliveries,
        sum(p.deletions) as deletions, sum(p.dead_lettered) as dead_lettered, sum(p.purged) as purged,
        sum(p.expired) as expired, sum(p.moved) as moved, sum(p.depth) as depth, sum(p.waiting) as waiting
    from part p join oracle_calendar c on c.minute = p.minute
    group by c.size, p.queue_id, p.group_id, c.starts_at, c.ends_at, c.whole),
calm as (       -- windows without events of a queue that contains messages
    select distinct c.size, q.queue_id, c.starts_at, c.ends_at
    from oracle_calendar c cross join (select distinct k.queue_id from oracle_minute k) q
    where c.whole and c.starts_at <= now()),
filled as (
    select * from total
    union all
    select c.size, c.queue_id, '', c.starts_at, c.ends_at, true, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    from calm c
    where not exists (
        select from total t
        where t.size = c.size and t.queue_id = c.queue_id and t.group_id = '' and t.starts_at = c.starts_at))
select f.size, f.queue_id, f.group_id, f.starts_at, f.ends_at, f.whole,
    coalesce(f.arrivals, 0) as arrivals, coalesce(f.first_deliveries, 0) as first_deliveries,
    coalesce(f.redeliveries, 0) as redeliveries, f.deletions, f.dead_lettered, f.purged, f.expired, f.moved,
    sum(f.depth) over through as depth, sum(f.waiting) over through as waiting
from filled f
window through as (partition by f.size, f.queue_id, f.group_id order by f.starts_at);

analyze oracle_sum;

-- The groups with the most arrivals, and the inequality of all groups in a window.
create temp table oracle_group as
select g.*, row_number() over (partition by g.size, g.queue_id, g.starts_at
    order by g.arrivals desc, g.group_id collate "C") as place
from oracle_sum g where g.group_id <> '' and g.arrivals > 0 and g.whole;

create temp table oracle_skew as
select g.size, g.queue_id, g.starts_at, count(*) as groups, max(g.arrivals) as top,
    (sum((2 * g.number - g.n - 1) * g.arrivals) / (max(g.n) * sum(g.arrivals)))::double precision as gini
from (
    select g.*, row_number() over (partition by g.size, g.queue_id, g.starts_at order by g.arrivals) as number,
        count(*) over (partition by g.size, g.queue_id, g.starts_at) as n
    from oracle_group g) g
group by g.size, g.queue_id, g.starts_at;

create temp table oracle_row as
select w.* from oracle_sum w
where w.group_id = '' and w.whole
    and (w.arrivals, w.first_deliveries, w.redeliveries, w.deletions, w.dead_lettered, w.purged, w.expired, w.moved,
        w.depth) <> (0, 0, 0, 0, 0, 0, 0, 0, 0)
union all
select g.size, g.queue_id, g.group_id, g.starts_at, g.ends_at, g.whole, g.arrivals, g.first_deliveries, g.redeliveries,
    g.deletions, g.dead_lettered, g.purged, g.expired, g.moved, g.depth, g.waiting
from oracle_group g where g.place <= 100;
analyze oracle_row;

-- The oldest message at a window's end is the first arrival before that end among the messages that end then or later.
-- A message that arrived and ended within a minute does not exist at any window's end.
create temp table oracle_oldest as
with stay as (
    select m.queue_id, m.group_id, m.entered_at, coalesce(m.finished_at, 'infinity') as finished_at
    from oracle_message m
    where m.finished_at is null or date_bin('1 minute', m.entered_at, timestamptz 'epoch')
        < date_bin('1 minute', m.finished_at, timestamptz 'epoch')),
line as (
    select y.queue_id, '' as group_id, y.finished_at as at, 0 as kind, y.entered_at, null::int as size from stay y
    union all
    select y.queue_id, y.group_id, y.finished_at, 0, y.entered_at, null from stay y where y.group_id is not null
    union all
    select r.queue_id, r.group_id, r.ends_at, 1, null, r.size from oracle_row r where r.depth > 0)
select l.size, l.queue_id, l.group_id, l.at as ends_at, l.oldest
from (
    select l.*, min(l.entered_at) over (partition by l.queue_id, l.group_id order by l.at desc, l.kind) as oldest
    from line l) l
where l.kind = 1;

analyze oracle_group;
analyze oracle_skew;
analyze oracle_oldest;

-- The current measurements, for the window of the run.
create temp table oracle_now as
select m.queue_id, coalesce(m.group_id, '') as group_id, count(*) filter (where m.state = 'visible') as visible,
    count(*) filter (where m.state = 'in_flight') as in_flight, count(*) filter (where m.state = 'delayed') as delayed
from oracle_message m group by grouping sets ((m.queue_id, m.group_id), (m.queue_id))
having grouping(m.group_id) = 1 or m.group_id is not null;

analyze oracle_now;

create temp table oracle_window as
select r.size as window_seconds, r.queue_id, r.group_id, r.starts_at, r.ends_at, r.arrivals::bigint,
    (r.first_deliveries + r.redeliveries)::bigint as deliveries, r.redeliveries::bigint, r.deletions::bigint,
    r.dead_lettered::bigint, r.purged::bigint, r.expired::bigint, r.moved::bigint, r.depth::bigint, r.waiting::bigint,
    (r.depth - r.waiting)::bigint as received, pg_temp.microseconds(o.oldest, r.ends_at) as oldest_age_us,
    l.visible, l.in_flight, l.delayed,
    case when r.group_id = '' then coalesce(k.groups, 0)::int end as groups,
    k.top::double precision / r.arrivals::double precision as top_group_share, k.gini
from oracle_row r
left join oracle_oldest o on o.size = r.size and o.queue_id = r.queue_id and o.group_id = r.group_id
    and o.ends_at = r.ends_at
left join oracle_skew k on r.group_id = '' and k.size = r.size and k.queue_id = r.queue_id and k.starts_at = r.starts_at
left join oracle_now l on l.queue_id = r.queue_id and l.group_id = r.group_id
    and r.starts_at <= now() and now() < r.ends_at;

-- Durations. A negative duration, which differing clocks cause, counts as 0.
create temp table oracle_value as
select v.measure, v.queue_id, v.group_id, date_bin('1 minute', v.at, timestamptz 'epoch') as minute,
    greatest(v.us, 0) as us, v.us < 0 as negative
from (
    select 1 as measure, m.queue_id, m.group_id, m.first_received_at as at,
        pg_temp.microseconds(m.entered_at, m.first_received_at) as us
    from oracle_message m where m.first_received_at is not null
    union all
    select 2, m.queue_id, m.group_id, m.finished_at, pg_temp.microseconds(m.first_received_at, m.finished_at)
    from oracle_message m where m.outcome = 'deleted' and m.first_received_at is not null
    union all
    select 3, m.queue_id, m.group_id, m.finished_at, pg_temp.microseconds(m.entered_at, m.finished_at)
    from oracle_message m where m.outcome = 'deleted'
    union all
    select 4, 0, null, r.fired_at, pg_temp.microseconds(r.scheduled_for, r.fired_at)
    from queue.schedule_run r where r.fired_at is not null
    union all
    select 5, 0, null, w.finished_at, pg_temp.microseconds(w.published_at, w.finished_at)
    from queue.finished_delivery w where w.outcome = 'delivered') v, oracle_span s
where v.at >= s.from_at and v.at < s.to_at;
analyze oracle_value;

-- Numbers the windows of queues and of groups with a row, so that the sorted rows below stay narrow.
create temp table oracle_key as
select row_number() over ()::int as key, k.* from (
    select w.size, w.queue_id, w.group_id, w.starts_at, w.ends_at from oracle_sum w where w.group_id = '' and w.whole
    union all
    select g.size, g.queue_id, g.group_id, g.starts_at, g.ends_at from oracle_group g where g.place <= 100
    union all
    select distinct c.size, 0, '', c.starts_at, c.ends_at from oracle_calendar c where c.whole) k;
analyze oracle_key;

create temp table oracle_part as
select v.measure, k.key, v.us, v.negative
from oracle_value v
join oracle_calendar c on c.minute = v.minute and c.whole
join oracle_key k on k.size = c.size and k.queue_id = v.queue_id and k.group_id = '' and k.starts_at = c.starts_at
union all
select v.measure, k.key, v.us, v.negative
from oracle_value v
join oracle_calendar c on c.minute = v.minute and c.whole
join oracle_key k on k.size = c.size and k.queue_id = v.queue_id and k.group_id = v.group_id
    and k.starts_at = c.starts_at
where v.group_id is not null;
analyze oracle_part;

-- The nearest rank is the value at ceil(p n) among n sorted values, like percentile_disc, but one sort serves all windows.
set local enable_hashagg = off;
create temp table oracle_measured as
select p.measure, p.key, count(*) as count, sum(p.us) as sum_us, array_agg(p.us) as ordered,
    count(*) filter (where p.negative) as negative_count
from (select * from oracle_part order by measure, key, us) p group by p.measure, p.key;
set local enable_hashagg = on;

create temp table oracle_sketch as
select b.measure, b.key, array_agg(b.bucket order by b.bucket) as buckets, array_agg(b.count order by b.bucket) as counts
from (
    select p.measure, p.key, count(*) as count, case when p.us > 0
        then ceil(ln(p.us::double precision) / ln(1.02::double precision / 0.98))::int else -2147483648 end as bucket
    from oracle_part p group by 1, 2, 4) b
group by b.measure, b.key;
analyze oracle_measured;
analyze oracle_sketch;

create temp table oracle_latency as
select k.size as window_seconds, k.queue_id, k.group_id,
    (array['wait', 'processing', 'lag', 'fire', 'delivery'])[m.measure] as measure, k.starts_at, k.ends_at, m.count, m.sum_us,
    m.ordered[ceil(0.5 * m.count)::int] as p50_us, m.ordered[ceil(0.9 * m.count)::int] as p90_us,
    m.ordered[ceil(0.95 * m.count)::int] as p95_us, m.ordered[ceil(0.99 * m.count)::int] as p99_us,
    m.ordered[m.count] as max_us, s.buckets as sketch_buckets, s.counts as sketch_counts, m.negative_count
from oracle_measured m join oracle_sketch s on s.measure = m.measure and s.key = m.key
join oracle_key k on k.key = m.key;
