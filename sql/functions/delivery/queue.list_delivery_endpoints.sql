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
