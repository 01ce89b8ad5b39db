-- Reasons to refuse a subscription.

-- queue.filter_limit_reached: returns whether a topic, or the owner in the topic's region, has the maximum number of
-- filter policies. `p_topic_filters` and `p_account_filters` are the maximum numbers ("Filter policy constraints", SNS
-- Developer Guide). A value of 0 means no limit. Reads the topic's and the owner's subscriptions. Uses the indexes
-- subscription_topic_id_protocol_endpoint_key and subscription_owner.
create or replace function queue.filter_limit_reached(
    p_topic_id int, p_owner text, p_topic_filters int, p_account_filters int) returns boolean
language sql stable as $$
select p_topic_filters > 0 and p_topic_filters <= (
        select count(*) from (
            select from queue.subscription s where s.topic_id = p_topic_id and s.filter is not null
            limit p_topic_filters) k)
    or p_account_filters > 0 and p_account_filters <= (
        select count(*) from (
            select from queue.subscription s join queue.topic t on t.topic_id = s.topic_id
            where s.owner = p_owner and s.filter is not null
                and t.region = (select o.region from queue.topic o where o.topic_id = p_topic_id)
            limit p_account_filters) k)
$$;

-- queue.refuse_dead_letter_queue: stops messages of a subscription to its dead-letter queue. `found` says whether the
-- subscription exists. A later change of the dead-letter queue's policy can allow the messages again.
create or replace function queue.refuse_dead_letter_queue(p_arn text) returns table (found boolean)
language plpgsql as $$
begin
    update queue.subscription s set dead_letter_queue_allowed = false where s.arn = p_arn;
    return query select found;
end $$;

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
