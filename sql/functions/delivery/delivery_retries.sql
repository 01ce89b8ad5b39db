-- Retries of failed deliveries, and test events.

-- queue.retry_deliveries: retries exhausted deliveries, as queue.retry_delivery does.
--   `p_endpoint` is null for deliveries to any endpoint.
--   `p_since` restricts the retries to deliveries with a last attempt at this time or later. Null means any time.
--   `p_after` restricts the retries to greater ids.
--   `p_limit` is the maximum number of deliveries.
--   `retried` is the number of deliveries.
--   `last_id` is the `p_after` of the next call. The value is null if no more deliveries match.
-- Locks the deliveries in the order of their ids and skips locked deliveries, then locks outgoing messages. Uses the
-- index outgoing_delivery_exhausted.
create or replace function queue.retry_deliveries(
    p_account_id text, p_endpoint text, p_since timestamptz, p_after bigint, p_limit int)
returns table (retried int, last_id bigint)
language plpgsql as $$
declare
    v_ids bigint[];
begin
    v_ids := array(
        select d.delivery_id from queue.outgoing_delivery d
        where d.account_id = p_account_id and d.state = 'exhausted' and d.delivery_id > coalesce(p_after, 0)
            and (p_endpoint is null or d.endpoint = p_endpoint) and d.due_at >= coalesce(p_since, '-infinity')
        order by d.delivery_id limit p_limit for update skip locked);
    update queue.outgoing_delivery d
    set attempts = 0, state = 'pending', lease = null, due_at = clock_timestamp(), waiting = false,
        given_up_at = coalesce(d.given_up_at, d.due_at)
    where d.delivery_id = any (v_ids);
    update queue.outgoing o set state = 'waiting', error = null
    from queue.outgoing_delivery d where d.delivery_id = any (v_ids) and o.outgoing_id = d.outgoing_id
        and o.state = 'failed';
    retried := cardinality(v_ids);
    last_id := case when retried = p_limit then v_ids[retried] end;
    if retried > 0 then
        perform queue.wake_deliveries();
    end if;
    return next;
end $$;

-- queue.count_exhausted: returns how many deliveries queue.retry_deliveries would retry with these parameters, up to
-- p_limit. Uses the index outgoing_delivery_exhausted.
create or replace function queue.count_exhausted(p_account_id text, p_endpoint text, p_since timestamptz, p_limit int)
returns table (number int)
language sql stable as $$
select count(*)::int from (
    select from queue.outgoing_delivery d
    where d.account_id = p_account_id and d.state = 'exhausted'
        and (p_endpoint is null or d.endpoint = p_endpoint) and d.due_at >= coalesce(p_since, '-infinity')
    limit p_limit) x
$$;

-- queue.retry_delivery: makes a delivery due now. Returns the id of the delivery. Returns no row if the account has no
-- delivery with this id. An exhausted delivery starts again with all its attempts. Does not change a delivery while an
-- attempt is running. Locks the delivery, then the outgoing message.
create or replace function queue.retry_delivery(p_account_id text, p_delivery_id bigint)
returns table (delivery_id bigint)
language plpgsql as $$
#variable_conflict use_column
begin
    update queue.outgoing_delivery d
    set attempts = case when d.state = 'exhausted' then 0 else d.attempts end, state = 'pending', lease = null,
        due_at = clock_timestamp(), waiting = false,
        given_up_at = case when d.state = 'exhausted' then coalesce(d.given_up_at, d.due_at) else d.given_up_at end
    where d.delivery_id = p_delivery_id and d.account_id = p_account_id
        and (d.lease is null or d.due_at <= (select clock_timestamp()));
    update queue.outgoing o set state = 'waiting', error = null
    from queue.outgoing_delivery d
    where d.delivery_id = p_delivery_id and d.account_id = p_account_id and d.state = 'pending'
        and o.outgoing_id = d.outgoing_id and o.state = 'failed';
    perform queue.wake_deliveries();
    return query select d.delivery_id from queue.outgoing_delivery d
    where d.delivery_id = p_delivery_id and d.account_id = p_account_id;
end $$;

-- queue.send_test_webhook: stores a test delivery to a URL. The worker delivers the event like any other event, but
-- never sends it to a dead-letter queue.
--   `p_subscription_arn` and `p_binding_id` are the target that find_test_target returned.
--   `p_raw` is the text, in JSON.
--   `p_head` and `p_tail` are the parts of the envelope around the subscription's ARN.
--   `error` is RequestThrottled if the account has too many deliveries.
-- Returns no row if the target no longer exists. Uses the indexes subscription_arn_key, binding_pkey and
-- delivery_excess_pkey.
create or replace function queue.send_test_webhook(
    p_account_id text, p_subscription_arn text, p_binding_id bigint, p_message_id uuid, p_raw text, p_head text,
    p_tail text)
returns table (delivery_id bigint, error text)
language plpgsql as $$
#variable_conflict use_column
begin
    if exists (select from queue.delivery_excess e where e.account_id = p_account_id and e.protocol = '') then
        return query select null::bigint, 'RequestThrottled'::text;
        return;
    end if;
    perform queue.wake_deliveries();
    return query
    with target as materialized (
        select 'Notification' as kind, t.arn as topic_arn, null as routing_key, s.arn as subscription_arn,
            null::bigint as binding_id, s.endpoint, s.raw, s.attributes ->> 'DeliveryPolicy' as own,
            t.attributes ->> 'DeliveryPolicy' as topics
        from queue.subscription s join queue.topic t on t.topic_id = s.topic_id
        where s.arn = p_subscription_arn and s.confirmed and t.account_id = p_account_id
        union all
        select 'event', concat_ws(':', 'arn:aws:sns', b.region, b.account_id, 'penstock.test'), 'penstock.test', null,
            b.binding_id, b.endpoint, not b.envelope, null, null
        from queue.binding b
        where b.binding_id = p_binding_id and b.account_id = p_account_id),
    notice as (
        insert into queue.notice (kind, topic_arn, routing_key, message_id, raw, head, tail)
        select t.kind, t.topic_arn, t.routing_key, p_message_id, p_raw, p_head, p_tail from target t
        returning notice_id)
    insert into queue.outgoing_delivery as d (notice_id, account_id, subscription_arn, binding_id, endpoint, raw,
        subscription_policy, topic_policy)
    select n.notice_id, p_account_id, t.subscription_arn, t.binding_id, t.endpoint, t.raw, t.own, t.topics
    from notice n, target t
    returning d.delivery_id, null::text;
end $$;
