-- queue.describe_topic(arn): returns a topic's attributes and tags as JSON text, and the numbers of its subscriptions,
-- confirmed and pending. Returns no row for an unknown topic.
create or replace function queue.describe_topic(p_arn text)
returns table (attributes text, tags text, confirmed bigint, pending bigint)
language sql stable as $$
select t.attributes::text, t.tags::text,
    (select count(*) from queue.subscription s where s.topic_id = t.topic_id and s.confirmed),
    (select count(*) from queue.subscription s where s.topic_id = t.topic_id and not s.confirmed)
from queue.topic t where t.arn = p_arn
$$;
