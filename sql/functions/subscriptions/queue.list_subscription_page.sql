-- queue.list_subscription_page: subscriptions of an account in a region, or of a topic (p_topic not null), in the order
-- of their ids, after p_after. Returns no row for an unknown topic.
-- Index: subscription_owner, subscription_topic_id_protocol_endpoint_key.
-- Called by: ListSubscriptions, ListSubscriptionsByTopic.
create or replace function queue.list_subscription_page(
    p_owner text, p_region text, p_topic text, p_after uuid, p_limit int)
returns table (subscription_id text, arn text, owner text, protocol text, endpoint text, topic_arn text,
    confirmed boolean)
language sql stable as $$
select s.subscription_id::text, s.arn, s.owner, s.protocol, s.endpoint, t.arn, s.confirmed
from queue.subscription s join queue.topic t on t.topic_id = s.topic_id
where (p_topic is null and s.owner = p_owner and t.region = p_region or t.arn = p_topic)
    and (p_after is null or s.subscription_id > p_after)
order by s.subscription_id
limit p_limit
$$;
