-- queue.subscription_refusal: returns why a topic cannot have another subscription of this kind, or null. The result is
-- SubscriptionLimitExceeded, LargeMessages or FilterPolicyLimitExceeded (add_subscription). The limits come from
-- endpoints and quotas of SNS (General Reference), SetTopicAttributes (API reference), and "Filter policy constraints"
-- (Developer Guide). Concurrent calls can exceed a limit, because each call counts before the other calls add a
-- subscription. Uses the index subscription_topic_id_protocol_endpoint_key.
create or replace function queue.subscription_refusal(
    p_topic queue.topic, p_protocol text, p_owner text, p_filter jsonb, p_topic_filters int, p_account_filters int)
returns text
language sql stable as $$
select case
    when (p_topic.fifo or l.large) and 100 <= (
        select count(*) from (select from queue.subscription s where s.topic_id = p_topic.topic_id limit 100) k)
        then case when l.large then 'LargeMessages' else 'SubscriptionLimitExceeded' end
    when l.large and p_protocol not in ('sqs', 'firehose', 'lambda') then 'LargeMessages'
    when p_filter is not null
        and queue.filter_limit_reached(p_topic.topic_id, p_owner, p_topic_filters, p_account_filters)
        then 'FilterPolicyLimitExceeded' end
from (select coalesce((p_topic.attributes ->> 'MaximumMessageSize')::int, 0) > 262144) l(large)
$$;
