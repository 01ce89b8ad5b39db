-- queue.settle_deliveries: writes the outcomes of attempts and logs them in queue.outgoing_delivery_attempt. Each
-- delivery has an element in each array.
--   `p_errors` is null if the delivery succeeded. The function then deletes the delivery and records it in the history.
--   `p_delays_ms` is the time until the retry. Null means that the function gives the delivery up.
--   `p_statuses` is 0 if the worker sent no request. The attempt then does not count.
--   `p_healths` is 1 if the endpoint responds, -1 if it fails, and 0 for neither (queue.record_endpoint_health). A 2
--     means that a mail server refused the recipient permanently (queue.record_mail_refusals).
-- Only the holder of a lease can write an outcome. An outcome has no effect if another worker has claimed the delivery.
--   `lost` is the number of deliveries that another worker had claimed.
--   `paused` contains the endpoints whose pauses begin now.
--   `failing` contains the endpoints that have now failed for two minutes.
--   `recovered` contains the endpoints that respond again after a pause or two minutes of failures.
-- Locks notices, deliveries, the subscriptions of delivered and refused mails, and rows of queue.delivery_endpoint, in
-- this order. Locks notices, subscriptions and endpoints in the order of their keys. Uses the indexes
-- outgoing_delivery_pkey and outgoing_delivery_notice.
-- This file also contains record_mail_refusals and record_endpoint_health.
create or replace function queue.settle_deliveries(
    p_ids bigint[], p_leases uuid[], p_endpoints text[], p_statuses int[], p_errors text[], p_delays_ms int[],
    p_healths int[], p_durations_ms int[] default null, p_sent_bytes int[] default null,
    p_responses text[] default null)
returns table (delivered int, retried int, exhausted int, dead_lettered int, lost int, paused text[],
    failed_redrives int, failing text[], recovered text[])
language plpgsql as $$
#variable_conflict use_column
declare
    v_notices bigint[];
    v_exhausted bigint[];
    v_mailed text[];
    v_refused text[];
begin
    perform queue.require_read_committed();
    -- Without these locks, two workers that delete the last two deliveries of a notice would each see the other
    -- worker's row.
    v_notices := array(
        select n.notice_id from queue.notice n
        where n.notice_id = any (array(select d.notice_id from queue.outgoing_delivery d
            where d.delivery_id = any (p_ids)))
        order by n.notice_id for update);
    -- The outcome of each attempt
    with entry as materialized (
        select u.* from unnest(p_ids, p_leases, p_statuses, p_errors, p_delays_ms, p_healths, p_durations_ms,
                p_sent_bytes, p_responses)
            u(delivery_id, lease, status, error, delay_ms, health, duration_ms, sent_bytes, response)),
    gone as (
        delete from queue.outgoing_delivery d using entry e
        where e.error is null and d.delivery_id = e.delivery_id and d.lease = e.lease
        returning d.delivery_id, d.notice_id, d.account_id, d.endpoint, d.created_at, d.attempts, d.outgoing_id,
            d.subscription_arn),
    carried as (
        update queue.outgoing o set state = 'sent', error = null from gone g where o.outgoing_id = g.outgoing_id),
    recorded as (
        insert into queue.outgoing_delivery_history (outcome, published_at, attempts)
        select 'delivered', array_agg(g.created_at), array_agg(g.attempts + 1) from gone g having count(*) > 0),
    kept as (
        update queue.outgoing_delivery d
        set attempts = d.attempts + (e.status is distinct from 0)::int, lease = null,
            last_status = nullif(e.status, 0), last_error = e.error,
            due_at = clock_timestamp() + coalesce(e.delay_ms, 0) * interval '1 millisecond'
        from entry e where e.error is not null and d.delivery_id = e.delivery_id and d.lease = e.lease
        returning d.delivery_id, d.notice_id, d.account_id, d.endpoint, d.attempts, e.delay_ms, e.health,
            d.subscription_arn),
    logged as (
        insert into queue.outgoing_delivery_attempt (account_id, delivery_id, message_id, subscription_arn, endpoint,
            attempt, outcome, status, error, duration_ms, sent_bytes, response)
        select t.account_id, t.delivery_id, n.message_id, t.subscription_arn, t.endpoint, t.attempt, t.outcome,
            e.status, e.error, e.duration_ms, e.sent_bytes, e.response
        from (
            select g.delivery_id, g.notice_id, g.account_id, g.endpoint, g.subscription_arn, g.attempts + 1 as attempt,
                'delivered' as outcome from gone g
            union all
            select k.delivery_id, k.notice_id, k.account_id, k.endpoint, k.subscription_arn, k.attempts,
                case when k.delay_ms is null then 'given_up' else 'retried' end from kept k) t
        join entry e on e.delivery_id = t.delivery_id and e.status is distinct from 0
        join queue.notice n on n.notice_id = t.notice_id)
    select (select count(*) from gone), count(*) filter (where k.delay_ms is not null),
        count(*) filter (where k.delay_ms is null),
        coalesce(array_agg(k.delivery_id) filter (where k.delay_ms is null), '{}'),
        array_agg(k.subscription_arn) filter (where k.health = 2),
        (select array_agg(g.subscription_arn) from gone g where g.outgoing_id is not null)
    into delivered, retried, exhausted, v_exhausted, v_refused, v_mailed from kept k;
    -- Consequences for mails and for deliveries without further attempts
    if v_refused is not null or v_mailed is not null then
        perform queue.record_mail_refusals(v_mailed || v_refused,
            array_fill(false, array[coalesce(cardinality(v_mailed), 0)])
                || array_fill(true, array[coalesce(cardinality(v_refused), 0)]));
    end if;
    dead_lettered := case when exhausted > 0 then queue.give_up_deliveries(v_exhausted) else 0 end;
    exhausted := exhausted - dead_lettered;
    failed_redrives := (    -- The function has deleted the deliveries whose messages moved to a dead-letter queue.
        select count(*) from queue.outgoing_delivery d
        where d.delivery_id = any (v_exhausted) and d.dead_letter_arn is not null);
    lost := cardinality(p_ids) - delivered - retried - exhausted - dead_lettered;
    -- Notices without deliveries, and the health of endpoints
    delete from queue.notice n
    where n.notice_id = any (v_notices)
        and not exists (select from queue.outgoing_delivery d where d.notice_id = n.notice_id);
    select h.paused, h.failing, h.recovered into paused, failing, recovered
    from queue.record_endpoint_health(p_ids, p_endpoints, p_healths) h;
    return next;
end $$;

-- queue.record_mail_refusals: counts mails that a server refused permanently because of the recipient. Each mail has an
-- element in each array. An accepted mail resets its subscription's count. The function hand_over_mail reads the count.
-- Locks subscriptions in the order of their ARNs. Uses the index subscription_arn_key.
create or replace function queue.record_mail_refusals(p_subscriptions text[], p_refused boolean[]) returns void
language plpgsql as $$
declare
    v_subscription record;
begin
    for v_subscription in
        select u.arn, count(*) filter (where u.refused)::int as refusals, bool_or(not u.refused) as accepts
        from unnest(p_subscriptions, p_refused) u(arn, refused) where u.arn is not null group by u.arn order by u.arn
    loop
        update queue.subscription s
        set mail_refusals = case when v_subscription.accepts then 0 else s.mail_refusals end + v_subscription.refusals
        where s.arn = v_subscription.arn and (s.mail_refusals > 0 or v_subscription.refusals > 0);
    end loop;
end $$;

-- queue.record_endpoint_health: records whether the endpoints of attempts work. Each attempt has an element in each
-- array.
--   `p_endpoints` is the column `endpoint_key` of claim_deliveries, which contains the account.
--   `p_healths` is 1 if the endpoint responded, -1 if it failed (no response, 5xx or 429), and 0 for neither.
-- After 20 failures in a row, the function pauses an endpoint for 5 seconds. The endpoint then receives one delivery as
-- a probe. A response ends the pause. A failure of the probe doubles the pause, up to a minute. Other failures do not
-- count during a pause. An endpoint that a user paused stays paused.
--   `paused` contains the endpoints whose first pause begins now.
--   `failing` contains the endpoints that have now failed for two minutes.
--   `recovered` contains the endpoints that respond again after a pause or two minutes of failures.
-- Locks rows of queue.delivery_endpoint in the order of their names.
create or replace function queue.record_endpoint_health(p_ids bigint[], p_endpoints text[], p_healths int[])
returns table (paused text[], failing text[], recovered text[])
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_endpoint record;
    v_name text;
    v_reported boolean;
begin
    paused := '{}';
    failing := '{}';
    recovered := '{}';
    for v_endpoint in
        select u.endpoint_key, bool_or(u.health > 0) as responds, count(*) filter (where u.health < 0)::int as failures,
            array_agg(u.delivery_id) filter (where u.health < 0) as failed
        from unnest(p_ids, p_endpoints, p_healths) u(delivery_id, endpoint_key, health)
        where u.health <> 0 group by u.endpoint_key order by u.endpoint_key
    loop
        v_name := split_part(v_endpoint.endpoint_key, ' ', 2);
        -- A response ends a pause
        if v_endpoint.responds then
            update queue.delivery_endpoint l
            set failures = 0, failing_since = null, pauses = 0, paused_until = null, paused_at = null, probe = null,
                next_at = least(l.next_at, v_now), reported = false
            from queue.delivery_endpoint o        -- The alias `o` means the row before the update.
            where l.endpoint_key = v_endpoint.endpoint_key and (l.failures > 0 or l.paused_until is not null)
                and not l.stopped and o.endpoint_key = l.endpoint_key
            returning o.reported into v_reported;
            if v_reported then
                recovered := recovered || v_name;
            end if;
            continue;
        end if;
        -- A failure counts
        insert into queue.delivery_endpoint as l (endpoint_key, next_at, failures, failing_since, account_id, host)
        select v_endpoint.endpoint_key, v_now + interval '1 hour', v_endpoint.failures, v_now, k.account_id,
            queue.delivery_host(k.account_id, v_name)
        from (select substring(v_endpoint.endpoint_key from '^([0-9]{12}) ') as account_id) k
        on conflict (endpoint_key) do update
        set failures = l.failures + excluded.failures, failing_since = coalesce(l.failing_since, v_now),
            next_at = case when exists (
                select from queue.outgoing_delivery d
                where d.waits_for = l.endpoint_key and d.state = 'pending' and d.waiting) then l.next_at
            else excluded.next_at end        -- The row stays until an hour after the last failure.
        where l.paused_until is null;
        -- Many failures in a row, or a failed probe, begin a pause
        update queue.delivery_endpoint l
        set paused_until = v_now + least(60, 5 * 2 ^ least(l.pauses, 10)) * interval '1 second',
            next_at = v_now + least(60, 5 * 2 ^ least(l.pauses, 10)) * interval '1 second',
            pauses = l.pauses + 1, paused_at = coalesce(l.paused_at, v_now), probe = null, reported = true
        where l.endpoint_key = v_endpoint.endpoint_key and l.failures >= 20
            and (l.paused_until is null or l.probe = any (v_endpoint.failed))
        returning l.pauses = 1 into v_reported;
        if v_reported then
            paused := paused || v_name;
        end if;
        -- Failures for two minutes
        update queue.delivery_endpoint l set reported = true
        where l.endpoint_key = v_endpoint.endpoint_key and not l.reported
            and l.failing_since <= v_now - interval '2 minutes';
        if found then
            failing := failing || v_name;
        end if;
    end loop;
    return next;
end $$;
