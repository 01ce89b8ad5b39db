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
