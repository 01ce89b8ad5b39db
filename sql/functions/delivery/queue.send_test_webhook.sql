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
