-- queue.notify_endpoint: stores a delivery or an outgoing message that tells an endpoint about its subscription. The
-- text is JSON and contains a MessageId.
create or replace function queue.notify_endpoint(
    p_subscription queue.subscription, p_kind text, p_topic text, p_text text) returns void
language sql volatile as $$
insert into queue.outgoing (account_id, region, protocol, kind, destination, message_id, topic_arn, subscription_arn,
    body)
select split_part(p_topic, ':', 5), split_part(p_topic, ':', 4), p_subscription.protocol, p_kind,
    p_subscription.endpoint, (p_text::jsonb ->> 'MessageId')::uuid, p_topic, p_subscription.arn, p_text
where p_subscription.protocol not in ('http', 'https');
with notice as (
    insert into queue.notice (kind, topic_arn, message_id, raw)
    select p_kind, p_topic, (p_text::jsonb ->> 'MessageId')::uuid, p_text
    where p_subscription.protocol in ('http', 'https') returning notice_id)
insert into queue.outgoing_delivery (notice_id, account_id, subscription_arn, endpoint, raw, subscription_policy)
select n.notice_id, split_part(p_topic, ':', 5), p_subscription.arn, p_subscription.endpoint, false,
    p_subscription.attributes ->> 'DeliveryPolicy'
from notice n;
select queue.wake_deliveries();
$$;
