-- queue.read_late_subscribers: returns the subscribers of an account that need attention, at most 50 of each kind.
-- Costs one index probe for an account without subscribers.
--   `kind` is subscriber_lags for a subscriber that has not read or delivered an event for more than p_late seconds,
--     subscriber_stopped for one that a user stopped while events wait, subscriber_fails for one whose target has
--     refused an event for more than two minutes, or of which a delivery has ended without success in the last 15
--     minutes, and subscriber_drops if the subscriber has no failure queue for these events.
--   `name` is the subscriber, and `bus` is the bus, by its ARN if it belongs to another account.
--   `number` counts events that the subscriber has not read or not delivered, or that its target refuses (of 10,000
--     events that wait) or has refused for the last time. For subscriber_drops, only the last.
--   `since` is the time at which the bus received the first of them, or of the first refusal.
--   `error` is the last error of the oldest refused event, or of all events, or the reason why the service does not
--     deliver.
-- This file also contains count_waiting_events.
create or replace function queue.read_late_subscribers(p_account_id text, p_region text, p_late double precision)
returns table (kind text, name text, number bigint, since timestamptz, error text, bus text)
language plpgsql stable as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_late timestamptz := v_now - p_late * interval '1 second';
begin
    if not exists (
        select from queue.event_subscriber s where s.account_id = p_account_id and s.region = p_region)
    then
        return;
    end if;
    return query
    with waiting as materialized (
        select * from queue.count_waiting_events(p_account_id, p_region, v_late)),
    unread as materialized (
        select s.subscriber_id, l.events - u.events_before as events, u.sequenced_at as since
        from queue.event_bus b
        cross join lateral (
            select p.events_before + cardinality(p.numbers) as events
            from queue.event_page p where p.bus_id = b.bus_id order by p.page desc limit 1) l
        cross join lateral (
            select p.page from queue.event_page p
            where p.bus_id = b.bus_id and p.sequenced_at >= queue.read_window_start(b)
            order by p.sequenced_at, p.page limit 1) f
        cross join lateral (
            -- The first page that the followers of the bus's cursor have not read.
            select min(p.sequenced_at) as sequenced_at from (
                select p.sequenced_at from queue.event_page p
                where p.bus_id = b.bus_id and p.page >= greatest(queue.read_event_cursor(b.bus_id, 0) + 1, f.page)
                order by p.page limit 1) p) a
        cross join lateral (
            -- Of the followers, those with the lowest pages have waited for the longest.
            (select x.* from queue.event_subscriber x
            where x.bus_id = b.bus_id and x.account_id = p_account_id and x.region = p_region and x.follows
                and not x.revoked and a.sequenced_at < v_late
            order by x.first_page, x.subscriber_id limit 50)
            union all
            -- The others have a cursor each, and those with the lowest pages have waited for the longest.
            (select x.* from (
                select k.subscriber_id, k.page from queue.event_cursor k
                where k.bus_id = b.bus_id and k.subscriber_id <> 0 order by k.page) k
            cross join lateral (
                select y.* from queue.event_subscriber y
                where y.subscriber_id = k.subscriber_id and y.account_id = p_account_id and y.region = p_region
                    and not y.follows and not y.revoked limit 1) x
            limit 50)) s
        cross join lateral (
            select case when s.follows then greatest(queue.read_event_cursor(b.bus_id, 0), s.first_page)
                else queue.read_event_cursor(b.bus_id, s.subscriber_id) end as page) c
        cross join lateral (
            select p.events_before, p.sequenced_at from queue.event_page p
            where p.bus_id = b.bus_id and p.page >= greatest(c.page + 1, f.page) order by p.page limit 1) u
        where u.sequenced_at < v_late
        order by u.sequenced_at, s.subscriber_id limit 50),
    late as (
        select coalesce(u.subscriber_id, w.subscriber_id) as subscriber_id,
            coalesce(u.events, 0) + coalesce(w.events, 0) as events, least(u.since, w.since) as since,
            w.rate_limit
        from unread u full join waiting w on w.subscriber_id = u.subscriber_id
        where u.subscriber_id is not null or w.is_late),
    failing as (
        select f.subscriber_id, sum(f.refused)::bigint as refused, sum(f.ended)::bigint as ended,
            min(f.since) as since,
            (array_agg(f.error order by f.since) filter (where f.error is not null))[1] as error
        from (
            select w.subscriber_id, w.refused, 0 as ended, w.refused_since as since, w.error
            from waiting w where w.refused_since < v_now - interval '2 minutes'
            union all
            select o.subscriber_id, 0, o.failed - o.failed_before, o.failed_since,
                o.error_code || ': ' || o.error_message
            from queue.event_bus b
            join queue.event_outcome o on o.bus_id = b.bus_id and o.failed_at > v_now - interval '15 minutes') f
        group by f.subscriber_id),
    found as (
        (select case when s.state = 'STOPPED' then 'subscriber_stopped' else 'subscriber_lags' end as kind,
            s.bus_id, s.name, t.events, t.since,
            case when not s.deliverable then 'Penstock cannot deliver to its target'
                when t.rate_limit is not null
                then 'The rate limit of the API destination is ' || t.rate_limit || ' a second' end as error
        from late t join queue.event_subscriber s on s.subscriber_id = t.subscriber_id
        order by t.since, s.subscriber_id limit 50)
        union all
        (select k.kind, s.bus_id, s.name,
            t.ended + case when k.kind = 'subscriber_drops' then 0 else t.refused end, t.since, t.error
        from failing t join queue.event_subscriber s on s.subscriber_id = t.subscriber_id
        cross join lateral (
            select case when t.ended > 0 and s.configuration -> 'OnFailureConfiguration' is null
                then 'subscriber_drops' else 'subscriber_fails' end as kind) k
        where s.account_id = p_account_id and s.region = p_region and not s.revoked and s.state = 'RUNNING'
        order by t.since, s.subscriber_id limit 50))
    select t.kind, t.name, t.events, t.since, t.error, case b.account_id when p_account_id then b.name else b.arn end
    from found t join queue.event_bus b on b.bus_id = t.bus_id;
end $$;

-- queue.count_waiting_events: counts the undelivered events that each subscriber of an account has read, up to 10,000.
--   `since` is the time at which the bus received the first of them.
--   `is_late` says that one of them came before p_late and the batch window, and has neither been refused nor waits
--     behind another event.
--   `refused` counts those that the target has refused, and `refused_since` is the time of the first refusal.
--   `rate_limit` is the rate of the subscriber's API destination.
create or replace function queue.count_waiting_events(p_account_id text, p_region text, p_late timestamptz)
returns table (subscriber_id bigint, events bigint, since timestamptz, is_late boolean, refused bigint,
    refused_since timestamptz, error text, rate_limit int)
language sql stable as $$
select s.subscriber_id, e.*, d.rate_limit
from queue.list_held_subscribers() w
join queue.event_subscriber s on s.subscriber_id = w.subscriber_id and s.account_id = p_account_id
    and s.region = p_region and not s.revoked
cross join lateral (
    select count(*), min(x.ingested_at),
        bool_or(x.attempts = 0 and x.due_at < 'infinity'
            and x.ingested_at < p_late - make_interval(secs => coalesce(s.batch_window_seconds, 0))),
        count(*) filter (where x.attempts > 0), min(x.first_attempt_at) filter (where x.attempts > 0),
        (array_agg(x.error_code || ': ' || x.error_message order by x.first_attempt_at)
            filter (where x.error_code is not null))[1]
    from (select y.* from queue.event_retry y where y.subscriber_id = s.subscriber_id limit 10000) x) e
left join queue.api_destination d on s.carrier = 'http' and d.arn = s.target_arn
$$;
