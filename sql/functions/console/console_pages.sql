-- Rows of the console's pages for topics.

-- queue.read_topic_page: returns a page of an account's topics with the numbers of their subscriptions. First come the
-- topics that have one of the endpoints, in the order of the endpoints, and then the others by name.
--   `p_search` is a part of the name, in upper or lower case. An empty text means all topics.
--   `p_endpoints` contains endpoints of subscriptions to which deliveries fail, the worst first.
--   `total` is the number of topics that match the search.
--   `endpoint` is the worst endpoint of the topic's subscriptions, or null.
-- Uses the indexes topic_account_id_region_name_key and subscription_topic_id_protocol_endpoint_key.
create or replace function queue.read_topic_page(p_account_id text, p_region text, p_search text, p_skip int,
    p_limit int, p_endpoints text[])
returns table (name text, arn text, fifo boolean, created_at timestamptz, confirmed bigint, pending bigint,
    total bigint, endpoint text)
language sql stable as $$
with found as materialized (
    select t.topic_id, t.name, t.arn, t.fifo, t.created_at, w.place from queue.topic t
    left join lateral (
        select min(array_position(p_endpoints, x.endpoint)) as place from queue.subscription x
        where x.topic_id = t.topic_id and x.endpoint = any (p_endpoints)
            and x.protocol in ('http', 'https', 'email', 'email-json', 'lambda', 'sms', 'application')) w
        on p_endpoints <> '{}'
    where t.account_id = p_account_id and t.region = p_region
        and queue.matches_search(t.name, p_search))
select f.name, f.arn, f.fifo, f.created_at, s.confirmed, s.pending, (select count(*) from found), p_endpoints[f.place]
from (select * from found order by found.place, found.name offset p_skip limit p_limit) f
cross join lateral (
    select count(*) filter (where x.confirmed) as confirmed, count(*) filter (where not x.confirmed) as pending
    from queue.subscription x where x.topic_id = f.topic_id) s
order by f.place, f.name
$$;

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
