-- queue.describe_topic: returns a topic's attributes and tags as JSON texts, and the numbers of its confirmed and
-- pending subscriptions. Returns no row for an unknown topic.
-- This file also contains list_topic_page.
create or replace function queue.describe_topic(p_arn text)
returns table (attributes text, tags text, confirmed bigint, pending bigint)
language sql stable as $$
select t.attributes::text, t.tags::text,
    (select count(*) from queue.subscription s where s.topic_id = t.topic_id and s.confirmed),
    (select count(*) from queue.subscription s where s.topic_id = t.topic_id and not s.confirmed)
from queue.topic t where t.arn = p_arn
$$;

-- queue.list_topic_page: returns ARNs and names of an account's topics in a region, by name. `p_after` restricts the
-- result to later names. Null means all names.
create or replace function queue.list_topic_page(p_account_id text, p_region text, p_after text, p_limit int)
returns table (arn text, name text)
language sql stable as $$
select t.arn, t.name from queue.topic t
where t.account_id = p_account_id and t.region = p_region and t.name > coalesce(p_after, '')
order by t.name
limit p_limit
$$;
