-- queue.add_subscription: subscribes an endpoint to a topic, or finds the subscription that the endpoint has already.
-- Parameters: the topic's ARN, id of a new subscription, owner, protocol, endpoint, attributes as written, compiled filter
--   policy; a token, and p_confirmation, the text that asks the endpoint to confirm: both null where nothing has to be
--   confirmed. While an http(s) subscription is pending, every call asks again, under a new token.
-- Returns one row: arn, confirmed, error (NotFound, SubscriptionExists).
-- Called by: Subscribe.
create or replace function queue.add_subscription(
    p_topic text, p_subscription_id uuid, p_owner text, p_protocol text, p_endpoint text, p_attributes jsonb,
    p_filter jsonb, p_token text, p_confirmation text)
returns table (arn text, confirmed boolean, error text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_topic queue.topic;
    v_subscription queue.subscription;
begin
    select * into v_topic from queue.topic t where t.arn = p_topic for share;
    if v_topic.topic_id is null then
        return query select null::text, false, 'NotFound'::text;
        return;
    end if;
    insert into queue.subscription as s (subscription_id, topic_id, arn, owner, protocol, endpoint, attributes, filter,
        confirmed, token, token_expires_at)
    values (p_subscription_id, v_topic.topic_id, v_topic.arn || ':' || p_subscription_id, p_owner, p_protocol,
        p_endpoint, p_attributes, p_filter, p_token is null, p_token, clock_timestamp() + interval '3 days')
    on conflict (topic_id, protocol, endpoint) do update
        set token = coalesce(excluded.token, s.token), token_expires_at = excluded.token_expires_at
    returning * into v_subscription;
    if v_subscription.subscription_id <> p_subscription_id and not v_subscription.attributes @> p_attributes then
        return query select v_subscription.arn, v_subscription.confirmed, 'SubscriptionExists'::text;
        return;
    end if;
    if not v_subscription.confirmed then
        perform queue.notify_endpoint(v_subscription, 'SubscriptionConfirmation', p_topic, p_confirmation);
    end if;
    return query select v_subscription.arn, v_subscription.confirmed, null::text;
end $$;
