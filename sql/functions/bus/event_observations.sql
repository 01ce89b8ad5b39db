-- Reads of the state of event buses and of their subscribers. Every read is an index probe or a count of few rows.

-- queue.observe_event_buses: returns an account's buses as JSON by column (queue.show_event_bus) in the order of their
-- names, with their counts, without the archives of topics.
--   `p_name` restricts the result to one name, and `p_after` to later names. Null means all.
--   `published` counts the events since the creation of the bus; `events` and `bytes` are those that it retains. All
--     three omit events that sequence_events has not read yet.
--   `published_before` and `delivered_before` count the events of the last full minute.
--   `oldest_at` is the time of the oldest retained event.
create or replace function queue.observe_event_buses(
    p_account_id text, p_region text, p_name text, p_after text, p_limit int)
returns table (bus jsonb, published bigint, events bigint, bytes bigint, oldest_at timestamptz, newest_at timestamptz,
    subscribers bigint, published_before bigint, delivered_before bigint)
language sql as $$
select queue.show_event_bus(b), coalesce(l.events, 0), coalesce(l.events - f.events_before, 0),
    coalesce(l.bytes - f.bytes_before, 0), f.first_at, l.last_at,
    (select count(*) from queue.event_subscriber s where s.bus_id = b.bus_id),
    coalesce(
        coalesce(queue.count_events_before(b.bus_id, m.minute), l.events)
            - coalesce(queue.count_events_before(b.bus_id, m.minute - interval '1 minute'), l.events), 0),
    coalesce((
        select sum(case when o.minute = m.minute then o.delivered_before
            when o.minute = m.minute - interval '1 minute' then o.delivered_in_minute end)
        from queue.event_outcome o where o.bus_id = b.bus_id), 0)::bigint
from queue.event_bus b
cross join (select date_trunc('minute', clock_timestamp()) as minute) m
left join lateral (
    select p.events_before + cardinality(p.numbers) as events, p.bytes_before + p.bytes as bytes, p.last_at
    from queue.event_page p where p.bus_id = b.bus_id order by p.page desc limit 1) l on true
left join lateral (
    select p.events_before, p.bytes_before, p.first_at from queue.event_page p
    where p.bus_id = b.bus_id and p.sequenced_at >= queue.read_window_start(b)
    order by p.sequenced_at, p.page limit 1) f on true
where b.account_id = p_account_id and b.region = p_region and (p_name is null or b.name = p_name)
    and b.name > coalesce(p_after, '') and b.topic_id is null
order by b.name limit p_limit
$$;

-- queue.count_events_before: returns the number of a bus's events that received places before a time, since the
-- creation of the bus, or null if no event did so later.
create or replace function queue.count_events_before(p_bus_id bigint, p_at timestamptz) returns bigint
language sql stable
return (
    select p.events_before from queue.event_page p
    where p.bus_id = p_bus_id and p.sequenced_at >= p_at order by p.sequenced_at, p.page limit 1);

-- queue.count_events_since: returns the number of a bus's events that received places at a time or later. Reads two
-- pages.
create or replace function queue.count_events_since(p_bus_arn text, p_at timestamptz)
returns table (events bigint)
language sql stable as $$
select coalesce(l.events - coalesce(queue.count_events_before(b.bus_id, p_at), l.events), 0)
from queue.event_bus b
left join lateral (
    select p.events_before + cardinality(p.numbers) as events
    from queue.event_page p where p.bus_id = b.bus_id order by p.page desc limit 1) l on true
where b.arn = p_bus_arn
$$;

-- queue.observe_event_subscribers: returns the subscribers of a bus as JSON by column, in the order of their ARNs, with
-- their positions and outcomes.
--   `p_account_id` and `p_name` restrict the result. Null means all. `p_after` is the last ARN of the previous page.
--   `lag_events` counts the retained events that the subscriber has not read, also those that its filters refuse, and
--     the events of `waiting`. `lag_since` is the time at which the bus received the first of them.
--   `read_until` is the time of the last event that the subscriber has read.
--   `waiting` counts the events that the subscriber has read and not delivered, up to 10,001, and `retries` those of
--     them that the target has refused.
create or replace function queue.observe_event_subscribers(
    p_bus_arn text, p_account_id text, p_name text, p_after text, p_limit int)
returns table (subscriber jsonb, lag_events bigint, lag_since timestamptz, read_until timestamptz, waiting bigint,
    retries bigint, next_retry_at timestamptz, delivered bigint, refused bigint, failed bigint, delivered_before bigint,
    refused_at timestamptz, error_code text, error_message text)
language sql as $$
select to_jsonb(s), coalesce(l.events - u.events_before, 0) + w.waiting, least(u.sequenced_at, w.since), r.last_at,
    w.waiting, w.retries, w.next_at, coalesce(o.delivered, 0), coalesce(o.refused, 0), coalesce(o.failed, 0),
    coalesce(case when o.minute = m.minute then o.delivered_before
        when o.minute = m.minute - interval '1 minute' then o.delivered_in_minute end, 0),
    o.refused_at, o.error_code, o.error_message
from queue.event_subscriber s
join queue.event_bus b on b.bus_id = s.bus_id
cross join (select date_trunc('minute', clock_timestamp()) as minute) m
left join lateral (
    select p.events_before + cardinality(p.numbers) as events
    from queue.event_page p where p.bus_id = b.bus_id order by p.page desc limit 1) l on true
left join lateral (
    select p.page from queue.event_page p
    where p.bus_id = b.bus_id and p.sequenced_at >= queue.read_window_start(b)
    order by p.sequenced_at, p.page limit 1) f on true
cross join lateral (
    select case when s.follows then greatest(queue.read_event_cursor(b.bus_id, 0), s.first_page)
        else queue.read_event_cursor(b.bus_id, s.subscriber_id) end as page) c
left join lateral (
    select p.events_before, p.sequenced_at from queue.event_page p
    where p.bus_id = b.bus_id and p.page >= greatest(c.page + 1, f.page) and not s.revoked
    order by p.page limit 1) u on true
left join lateral (select p.last_at from queue.event_page p where p.bus_id = b.bus_id and p.page = c.page) r on true
cross join lateral (
    select count(*) as waiting, min(x.ingested_at) as since, count(*) filter (where x.attempts > 0) as retries,
        min(x.due_at) filter (where x.attempts > 0 and x.due_at < 'infinity') as next_at
    from (select * from queue.event_retry y where y.subscriber_id = s.subscriber_id and not s.revoked limit 10001) x) w
left join queue.event_outcome o on o.bus_id = s.bus_id and o.subscriber_id = s.subscriber_id
where b.arn = p_bus_arn and (p_account_id is null or s.account_id = p_account_id)
    and (p_name is null or s.name = p_name) and s.arn > coalesce(p_after, '')
order by s.arn limit p_limit
$$;
