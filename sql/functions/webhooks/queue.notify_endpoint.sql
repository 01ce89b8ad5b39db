-- queue.notify_endpoint(subscription, kind, topic's ARN, text): one webhook that tells an endpoint about its
-- subscription, in a text that is JSON and has a MessageId.
-- Called by: add_subscription, drop_subscription.
create or replace function queue.notify_endpoint(
    p_subscription queue.subscription, p_kind text, p_topic text, p_text text) returns void
language sql volatile as $$
with notice as (
    insert into queue.notice (kind, topic_arn, message_id, raw)
    values (p_kind, p_topic, (p_text::jsonb ->> 'MessageId')::uuid, p_text) returning notice_id)
insert into queue.webhook (notice_id, account_id, subscription_arn, endpoint, raw, subscription_policy)
select n.notice_id, split_part(p_topic, ':', 5), p_subscription.arn, p_subscription.endpoint, false, p_subscription.attributes ->> 'DeliveryPolicy'
from notice n;
select queue.wake_webhooks();
$$;
