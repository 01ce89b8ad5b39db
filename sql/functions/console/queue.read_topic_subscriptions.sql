-- queue.read_topic_subscriptions: returns a page of a topic's subscriptions, the oldest first.
--   `filter_policy` is the policy as the user wrote it.
--   `matches` says whether the subscription would receive a message with these facts. The value is null if both
--     p_..._facts are null.
-- Uses the index subscription_topic_id_protocol_endpoint_key.
create or replace function queue.read_topic_subscriptions(
    p_topic text, p_attribute_facts jsonb, p_body_facts jsonb, p_skip int, p_limit int)
returns table (arn text, owner text, protocol text, endpoint text, confirmed boolean, raw boolean, filter_policy text,
    filter_scope text, dead_letter_arn text, matches boolean)
language sql stable as $$
select s.arn, s.owner, s.protocol, s.endpoint, s.confirmed, s.raw, s.attributes ->> 'FilterPolicy', s.filter_scope,
    s.dead_letter_arn,
    case when p_attribute_facts is null and p_body_facts is null then null
        when not s.confirmed then false
        when s.filter is null then true
        else queue.policy_matches(
            s.filter, case s.filter_scope when 'MessageBody' then p_body_facts else p_attribute_facts end) end
from queue.subscription s join queue.topic t on t.topic_id = s.topic_id
where t.arn = p_topic
order by s.created_at, s.subscription_id
offset p_skip limit p_limit
$$;
