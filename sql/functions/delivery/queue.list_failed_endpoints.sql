-- queue.list_failed_endpoints: returns up to 200 endpoints of an account that do not work. An endpoint does not work if
-- it is paused, has exhausted deliveries or retries of them, or has failed for p_seconds without a response. The
-- endpoints with the most exhausted deliveries come first.
--   `p_max` limits the counts to the newest exhausted deliveries and the first due deliveries, up to this number.
--   `given_up_at` is the time at which the worker gave up the first of the counted deliveries.
--   `paused_at` is the beginning of the pause, and null if the endpoint is not paused.
--   `stopped` is true if a user paused the endpoint.
--   `failing_since` is the time of the first failure since the last response. The value is null if the endpoint is
--     paused or works.
--   `retried` is the number of deliveries that the worker will retry.
--   `waiting` is the number of deliveries that wait for the end of the pause.
--   `again` is the number of pending deliveries that were given up before a user retried them, up to p_max.
--   `last_given_up_at` is the time at which the worker gave up the last of the counted deliveries.
--   `fails_since` is the time of the first failure since the last response, also of a paused endpoint. The value is
--     null if the endpoint responded, or if it has failed for less than p_seconds and is not paused.
--   `confirms` is the ARN of the topic if the newest given-up delivery asks the endpoint to confirm a subscription.
-- Uses the indexes outgoing_delivery_exhausted, outgoing_delivery_retried, outgoing_delivery_account_due,
-- outgoing_delivery_waits_for and delivery_endpoint_account_next_at.
create or replace function queue.list_failed_endpoints(p_account_id text, p_max int, p_seconds int)
returns table (
    endpoint text, given_up int, given_up_at timestamptz, last_error text, paused_at timestamptz, stopped boolean,
    failing_since timestamptz, retried int, retry_error text, waiting int, again int, last_given_up_at timestamptz,
    fails_since timestamptz, confirms text)
language sql stable as $$
with given_up as (
    select n.endpoint, count(*)::int as number, min(coalesce(n.given_up_at, n.due_at)) as since,
        max(n.due_at) as last_at, max(n.delivery_id) as last_id
    from (
        select d.endpoint, d.due_at, d.given_up_at, d.delivery_id from queue.outgoing_delivery d
        where d.account_id = p_account_id and d.state = 'exhausted' order by d.delivery_id desc limit p_max) n
    group by n.endpoint),
again as (
    select n.endpoint, count(*)::int as number, min(n.given_up_at) as since, max(n.last_error) as last_error
    from (
        select d.endpoint, d.given_up_at, d.last_error from queue.outgoing_delivery d
        where d.account_id = p_account_id and d.state = 'pending' and d.given_up_at is not null limit p_max) n
    group by n.endpoint),
paused as materialized (
    select split_part(l.endpoint_key, ' ', 2) as endpoint, min(l.paused_at) as since, bool_or(l.stopped) as stopped,
        min(l.failing_since) as failing_since,
        sum(w.number)::int as waiting
    from queue.delivery_endpoint l
    cross join lateral (
        select count(*) as number from (
            select d.account_id || ' ' || d.endpoint_key as endpoint_key from queue.outgoing_delivery d
            where d.waits_for in (l.endpoint_key, l.host) and d.state = 'pending' and d.waiting limit p_max) d
        where d.endpoint_key = l.endpoint_key) w
    where l.account_id = p_account_id and l.paused_until is not null group by 1),
failing as materialized (
    select split_part(l.endpoint_key, ' ', 2) as endpoint, min(l.failing_since) as since
    from queue.delivery_endpoint l
    where l.account_id = p_account_id and l.paused_until is null and l.failures > 0
        and l.failing_since < clock_timestamp() - p_seconds * interval '1 second'
    group by 1),
retried as materialized (       -- This query reads no delivery if all endpoints work.
    select n.endpoint, count(*)::int as number, max(n.last_error) as last_error
    from (
        select d.endpoint, d.last_error from unnest(queue.delivery_carriers()) k(carrier)
        cross join lateral (
            select d.endpoint, d.last_error, d.due_at from queue.outgoing_delivery d
            where d.account_id = p_account_id and d.state = 'pending' and not d.waiting and d.carrier = k.carrier
                and (exists (select from failing) or exists (select from paused))
            order by d.due_at limit p_max) d
        order by d.due_at limit p_max) n
    group by 1)
-- A row for each endpoint
select e.endpoint, coalesce(g.number, 0), least(g.since, a.since), coalesce(d.last_error, a.last_error), p.since,
    coalesce(p.stopped, false), case when r.number > 0 then f.since end, coalesce(r.number, 0), r.last_error,
    coalesce(p.waiting, 0) + coalesce(b.number, 0), coalesce(a.number, 0), g.last_at,
    coalesce(p.failing_since, case when not p.stopped then p.since end, f.since), coalesce(n.topic_arn, o.topic_arn)
from (
    select g.endpoint from given_up g
    union select a.endpoint from again a
    union select p.endpoint from paused p
    union select f.endpoint from failing f) e
left join given_up g on g.endpoint = e.endpoint
left join again a on a.endpoint = e.endpoint
left join paused p on p.endpoint = e.endpoint
left join failing f on f.endpoint = e.endpoint
left join retried r on r.endpoint = f.endpoint
left join retried b on b.endpoint = p.endpoint
left join queue.outgoing_delivery d on d.delivery_id = g.last_id
left join queue.notice n on n.notice_id = d.notice_id and n.kind = 'SubscriptionConfirmation'
left join queue.outgoing o on o.outgoing_id = d.outgoing_id and o.kind = 'SubscriptionConfirmation'
where g.number > 0 or a.number > 0 or p.since is not null or r.number > 0
order by g.number desc nulls last, 1
limit 200
$$;
