-- queue.list_subscription_page: returns subscriptions of an account in a region, or of a topic, in the order of their
-- ids.
--   `p_topic` is a topic. Null means the account's subscriptions, and subscriptions that deliver to the account's
--     queues.
--   `p_after` restricts the result to greater ids, and null means all ids.
-- Returns no row for an unknown topic. Uses the indexes subscription_owner, subscription_receiver and
-- subscription_topic_id_protocol_endpoint_key.
create or replace function queue.list_subscription_page(
    p_owner text, p_region text, p_topic text, p_after uuid, p_limit int)
returns table (subscription_id text, arn text, owner text, protocol text, endpoint text, topic_arn text,
    confirmed boolean)
language sql stable as $$
with owned as (
    select s.*, t.arn as topic_arn from queue.subscription s join queue.topic t on t.topic_id = s.topic_id
    where p_topic is null and s.owner = p_owner and t.region = p_region
        and (p_after is null or s.subscription_id > p_after)
    order by s.subscription_id limit p_limit
), received as (
    select s.*, t.arn as topic_arn from queue.subscription s join queue.topic t on t.topic_id = s.topic_id
    where p_topic is null and s.protocol = 'sqs' and split_part(s.endpoint, ':', 5) = p_owner and s.owner <> p_owner
        and t.region = p_region and (p_after is null or s.subscription_id > p_after)
    order by s.subscription_id limit p_limit
), of_topic as (
    select s.*, t.arn as topic_arn from queue.subscription s join queue.topic t on t.topic_id = s.topic_id
    where t.arn = p_topic and (p_after is null or s.subscription_id > p_after)
    order by s.subscription_id limit p_limit
)
select k.subscription_id::text, k.arn, k.owner, k.protocol, k.endpoint, k.topic_arn, k.confirmed
from (select * from owned union all select * from received union all select * from of_topic) k
order by k.subscription_id
limit p_limit
$$;
