-- queue.delivery_rate(subscription's policy, topic's): deliveries a second that the delivery policies allow; null: any
-- number. A topic may ignore its subscriptions' own policies.
create or replace function queue.delivery_rate(p_subscription text, p_topic text) returns int
language sql immutable parallel safe
return (coalesce(
    case when (nullif(p_topic, '')::jsonb #>> '{http,disableSubscriptionOverrides}')::boolean then null
        else nullif(p_subscription, '')::jsonb #>> '{throttlePolicy,maxReceivesPerSecond}' end,
    nullif(p_topic, '')::jsonb #>> '{http,defaultThrottlePolicy,maxReceivesPerSecond}'))::int;
