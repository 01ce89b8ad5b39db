-- queue.settle_deliveries(ids, leases, endpoints, statuses, errors, delays_ms, healths, durations_ms, sent_bytes, answers):
-- writes the outcomes of attempts, one array element a delivery, and logs each in queue.outgoing_delivery_attempt. Only the lease's holder may do that: an outcome that comes after another worker has
-- claimed the delivery changes nothing. Without an error the delivery was delivered, and is deleted and recorded in the
-- history. Else it is retried after delay_ms, or, when that is null, given up. Status 0: nothing was sent, and the
-- attempt does not count.
-- healths: 1 the endpoint answers, -1 it fails, 0 neither; see queue.record_endpoint_health. 2: a mail server answers, and
-- refuses the recipient for good; see queue.record_mail_refusals.
-- Returns one row: how many were delivered, will be retried, were given up (exhausted), went to a dead-letter queue,
-- and how many belonged to another worker by then (lost).
-- Locks: notices, then deliveries, then subscriptions of mails, then rows of queue.lane, each in order. Index: outgoing_delivery_pkey, outgoing_delivery_notice.
-- Called by: the worker `deliver`.
create or replace function queue.settle_deliveries(
    p_ids bigint[], p_leases uuid[], p_endpoints text[], p_statuses int[], p_errors text[], p_delays_ms int[],
    p_healths int[], p_durations_ms int[] default null, p_sent_bytes int[] default null, p_answers text[] default null)
returns table (delivered int, retried int, exhausted int, dead_lettered int, lost int)
language plpgsql as $$
#variable_conflict use_column
declare
    v_notices bigint[];
    v_exhausted bigint[];
    v_mailed text[];
    v_refused text[];
begin
    perform queue.require_read_committed();
    -- Without these locks, two workers that delete the last two deliveries of a notice would each still see the other's.
    v_notices := array(
        select n.notice_id from queue.notice n
        where n.notice_id = any (array(select w.notice_id from queue.outgoing_delivery w where w.delivery_id = any (p_ids)))
        order by n.notice_id for update);
    with entry as materialized (
        select u.* from unnest(p_ids, p_leases, p_statuses, p_errors, p_delays_ms, p_healths, p_durations_ms, p_sent_bytes,
                p_answers)
            u(delivery_id, lease, status, error, delay_ms, health, duration_ms, sent_bytes, answer)),
    gone as (
        delete from queue.outgoing_delivery w using entry e
        where e.error is null and w.delivery_id = e.delivery_id and w.lease = e.lease
        returning w.delivery_id, w.notice_id, w.account_id, w.endpoint, w.created_at, w.attempts, w.outgoing_id,
            w.subscription_arn),
    carried as (
        update queue.outgoing o set state = 'sent', error = null from gone g where o.outgoing_id = g.outgoing_id),
    recorded as (
        insert into queue.outgoing_delivery_history (outcome, published_at, attempts)
        select 'delivered', array_agg(g.created_at), array_agg(g.attempts + 1) from gone g having count(*) > 0),
    kept as (
        update queue.outgoing_delivery w
        set attempts = w.attempts + (e.status is distinct from 0)::int, lease = null,
            last_status = nullif(e.status, 0), last_error = e.error,
            due_at = clock_timestamp() + coalesce(e.delay_ms, 0) * interval '1 millisecond'
        from entry e where e.error is not null and w.delivery_id = e.delivery_id and w.lease = e.lease
        returning w.delivery_id, w.notice_id, w.account_id, w.endpoint, w.attempts, e.delay_ms, e.health,
            w.subscription_arn),
    logged as (
        insert into queue.outgoing_delivery_attempt (account_id, delivery_id, message_id, subscription_arn, endpoint, attempt,
            outcome, status, error, duration_ms, sent_bytes, answer)
        select t.account_id, t.delivery_id, n.message_id, t.subscription_arn, t.endpoint, t.attempt, t.outcome,
            e.status, e.error, e.duration_ms, e.sent_bytes, e.answer
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
    if v_refused is not null or v_mailed is not null then
        perform queue.record_mail_refusals(v_mailed || v_refused,
            array_fill(false, array[coalesce(cardinality(v_mailed), 0)]) || array_fill(true, array[coalesce(cardinality(v_refused), 0)]));
    end if;
    dead_lettered := case when exhausted > 0 then queue.give_up_deliveries(v_exhausted) else 0 end;
    exhausted := exhausted - dead_lettered;
    lost := cardinality(p_ids) - delivered - retried - exhausted - dead_lettered;
    delete from queue.notice n
    where n.notice_id = any (v_notices)
        and not exists (select from queue.outgoing_delivery w where w.notice_id = n.notice_id);
    perform queue.record_endpoint_health(p_ids, p_endpoints, p_healths);
    return next;
end $$;
