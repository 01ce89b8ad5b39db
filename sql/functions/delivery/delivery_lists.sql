-- Lists of deliveries, attempts and endpoints for the management operations.

-- queue.list_deliveries: returns deliveries of an account in the order of their ids.
--   `p_state` is pending or exhausted.
--   `p_after` restricts the result to greater ids, and null means all ids.
--   `due_at_ms` is the end of the service's pause of the endpoint, if that is later than the delivery's time.
--   `endpoint_state` is `paused` if a user paused the endpoint, and `fails` if the service did.
-- Times are in milliseconds since 1970. Uses the indexes outgoing_delivery_exhausted, outgoing_delivery_pkey and
-- delivery_endpoint_pkey.
create or replace function queue.list_deliveries(p_account_id text, p_state text, p_after bigint, p_limit int)
returns table (
    delivery_id bigint, state text, kind text, message_id uuid, topic_arn text, subscription_arn text,
    binding_id bigint,
    endpoint text, attempts int, due_at_ms bigint, under_way boolean, last_status int, last_error text,
    dead_letter_arn text, created_at_ms bigint, endpoint_state text)
language sql stable as $$
select d.delivery_id, d.state, n.kind, n.message_id, n.topic_arn, d.subscription_arn, d.binding_id, d.endpoint,
    d.attempts,
    queue.epoch_ms(case when e.stopped then d.due_at else greatest(d.due_at, e.paused_until) end),
    d.lease is not null and d.due_at > clock_timestamp(), d.last_status, d.last_error,
    d.dead_letter_arn, queue.epoch_ms(d.created_at),
    case when e.stopped then 'paused' when e.paused_until is not null then 'fails' end
from queue.outgoing_delivery d join queue.notice n on n.notice_id = d.notice_id
left join queue.delivery_endpoint e on d.state = 'pending' and e.endpoint_key = d.account_id || ' ' || d.endpoint_key
where d.account_id = p_account_id and d.state = p_state and d.delivery_id > coalesce(p_after, 0)
order by d.delivery_id limit p_limit
$$;

-- queue.list_delivery_attempts: returns delivery attempts, the newest first.
--   `p_endpoint` is null for attempts to any endpoint.
--   `p_failed` restricts the result to failed attempts.
--   `p_since` is null for attempts at any time.
--   `p_before` restricts the result to smaller ids, and null means all ids.
--   `p_max` is the maximum number of attempts that the function examines.
-- The first row is a header. Its `looked_at` is the number of examined attempts. Its `attempt_id` is the `p_before` of
-- the next call, or null if no attempts remain. Times are in milliseconds since 1970.
create or replace function queue.list_delivery_attempts(
    p_account_id text, p_endpoint text, p_failed boolean, p_since timestamptz, p_before bigint, p_limit int, p_max int)
returns table (
    attempt_id bigint, looked_at int, recorded_at_ms bigint, delivery_id bigint, message_id uuid,
    subscription_arn text, endpoint text, attempt int, outcome text, status int, error text, duration_ms int,
    sent_bytes int, response text)
language sql stable as $$
with newest as materialized (
    select a.* from queue.outgoing_delivery_attempt a
    where a.account_id = p_account_id and a.attempt_id < coalesce(p_before, 9223372036854775807)
    order by a.attempt_id desc limit p_max),
found as materialized (
    select n.*, n.recorded_at >= coalesce(p_since, '-infinity') and (p_endpoint is null or n.endpoint = p_endpoint)
        and (n.error is not null or not p_failed) as fits
    from newest n),
page as materialized (
    select f.* from found f where f.fits order by f.attempt_id desc limit p_limit),
ended as (
    select coalesce(
        (select min(p.attempt_id) from page p having count(*) = p_limit),
        (select min(n.attempt_id) from newest n)) as at)
select case when (select count(*) from page) = p_limit or (select count(*) from newest) = p_max then e.at end,
    (select count(*)::int from newest n where n.attempt_id >= e.at),
    null, null, null, null, null, null, null, null, null, null, null, null
from ended e
union all
(select p.attempt_id, null, queue.epoch_ms(p.recorded_at), p.delivery_id, p.message_id, p.subscription_arn,
    p.endpoint, p.attempt, p.outcome, p.status, p.error, p.duration_ms, p.sent_bytes, p.response
from page p order by p.attempt_id desc)
$$;

-- queue.list_delivery_endpoints: returns the endpoints of an account's newest attempts, and paused endpoints. The
-- result has at most 1,000 rows. Paused endpoints that fail come first, then endpoints that a user stopped, then the
-- endpoints with the most failures.
--   `p_max` is the number of attempts that count.
--   `stopped` is true if a user paused the endpoint.
--   `paused_until_ms` is the end of the worker's pause after failures.
--   `waiting` is the number of deliveries that wait for a paused endpoint, up to 10,001.
-- Times are in milliseconds since 1970. Uses the indexes outgoing_delivery_attempt_pkey,
-- delivery_endpoint_account_next_at and outgoing_delivery_waits_for.
create or replace function queue.list_delivery_endpoints(p_account_id text, p_max int)
returns table (
    endpoint text, attempts int, delivered int, p95_ms int, last_status int, last_error text, last_at_ms bigint,
    stopped boolean, paused_until_ms bigint, waiting int)
language sql stable as $$
with newest as materialized (
    select a.* from queue.outgoing_delivery_attempt a
    where a.account_id = p_account_id order by a.attempt_id desc limit p_max),
tried as (
    select n.endpoint, count(*)::int as attempts, count(*) filter (where n.error is null)::int as delivered,
        percentile_disc(0.95) within group (order by n.duration_ms) as p95_ms, max(n.attempt_id) as last_id
    from newest n group by n.endpoint),
paused as (
    select split_part(l.endpoint_key, ' ', 2) as endpoint, l.stopped,
        case when not l.stopped then l.paused_until end as paused_until,
        (select count(*)::int from (
            select from queue.outgoing_delivery d
            where d.waits_for = l.endpoint_key and d.state = 'pending' and d.waiting limit 10001) x) as waiting
    from queue.delivery_endpoint l
    where l.account_id = p_account_id and l.paused_until is not null
        and l.endpoint_key = p_account_id || ' ' || split_part(l.endpoint_key, ' ', 2))
select coalesce(t.endpoint, p.endpoint), coalesce(t.attempts, 0), coalesce(t.delivered, 0), t.p95_ms, n.status, n.error,
    queue.epoch_ms(n.recorded_at), coalesce(p.stopped, false), queue.epoch_ms(p.paused_until), p.waiting
from tried t full join paused p on p.endpoint = t.endpoint left join newest n on n.attempt_id = t.last_id
order by p.paused_until is not null desc, coalesce(p.stopped, false) desc, t.attempts - t.delivered desc nulls last, 1
limit 1000
$$;
