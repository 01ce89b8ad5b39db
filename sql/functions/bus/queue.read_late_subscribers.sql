-- queue.read_late_subscribers: returns the subscribers of an account that need attention, at most 50 of each kind.
-- Costs one index probe for an account without subscribers.
--   `kind` is subscriber_lags for a subscriber that has not read an event for more than p_late seconds,
--     subscriber_stopped for one that a user stopped while events wait, and subscriber_fails for one whose target has
--     refused an event for more than two minutes, or of which a delivery has ended without success in the last 15
--     minutes.
--   `name` is the bus, by its ARN if it belongs to another account, and the subscriber, separated by a slash.
--   `number` counts events that the subscriber has not read, or that its target refuses (of 10,000 refused events of a
--     bus) or has refused for the last time.
--   `since` is the time at which the bus received the first of them, or of the first refusal.
--   `error` is the last error of the oldest refused event, or of all events, or the reason why the service does not
--     deliver.
create or replace function queue.read_late_subscribers(p_account_id text, p_region text, p_late double precision)
returns table (kind text, name text, number bigint, since timestamptz, error text)
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
    select case when s.state = 'STOPPED' then 'subscriber_stopped' else 'subscriber_lags' end,
        case b.account_id when p_account_id then b.name else b.arn end || '/' || s.name,
        l.events - u.events_before, u.sequenced_at,
        case when not s.deliverable then 'Penstock cannot deliver to its target' end
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
        select x.* from queue.event_subscriber x
        where x.bus_id = b.bus_id and x.account_id = p_account_id and x.region = p_region and not x.follows
            and not x.revoked) s
    cross join lateral (
        select case when s.follows then greatest(queue.read_event_cursor(b.bus_id, 0), s.first_page)
            else queue.read_event_cursor(b.bus_id, s.subscriber_id) end as page) c
    cross join lateral (
        select p.events_before, p.sequenced_at from queue.event_page p
        where p.bus_id = b.bus_id and p.page >= greatest(c.page + 1, f.page) order by p.page limit 1) u
    where u.sequenced_at < v_late
    order by u.sequenced_at, s.subscriber_id limit 50;
    return query
    select 'subscriber_fails', case b.account_id when p_account_id then b.name else b.arn end || '/' || s.name,
        r.number, r.since, r.error
    from queue.event_bus b
    cross join lateral (
        select f.subscriber_id, sum(f.number)::bigint as number, min(f.since) as since,
            (array_agg(f.error order by f.since) filter (where f.error is not null))[1] as error
        from (
            select x.subscriber_id, count(*) as number, min(x.first_attempt_at) as since,
                (array_agg(x.error_code || ': ' || x.error_message order by x.first_attempt_at)
                    filter (where x.error_code is not null))[1] as error
            from (select y.* from queue.event_retry y where y.bus_id = b.bus_id limit 10000) x
            group by x.subscriber_id
            having min(x.first_attempt_at) < v_now - interval '2 minutes'
            union all
            select o.subscriber_id, o.failed - o.failed_before, o.failed_since, o.error_code || ': ' || o.error_message
            from queue.event_outcome o where o.bus_id = b.bus_id and o.failed_at > v_now - interval '15 minutes') f
        group by f.subscriber_id) r
    join queue.event_subscriber s on s.subscriber_id = r.subscriber_id
    where s.account_id = p_account_id and s.region = p_region and not s.revoked and s.state = 'RUNNING'
    order by r.since, s.subscriber_id limit 50;
end $$;
