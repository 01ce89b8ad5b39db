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
