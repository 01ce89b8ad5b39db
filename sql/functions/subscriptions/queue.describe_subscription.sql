-- queue.describe_subscription: returns a subscription with its attributes as the user wrote them, and its topic's
-- delivery policy. Returns no row for an unknown subscription.
create or replace function queue.describe_subscription(p_arn text)
returns table (attributes text, owner text, protocol text, endpoint text, topic_arn text, confirmed boolean,
    authenticated boolean, topic_delivery_policy text, principal text)
language sql stable as $$
select s.attributes::text, s.owner, s.protocol, s.endpoint, t.arn, s.confirmed, s.authenticates_unsubscribe,
    t.attributes ->> 'DeliveryPolicy', s.principal
from queue.subscription s join queue.topic t on t.topic_id = s.topic_id
where s.arn = p_arn
$$;
