-- queue.drop_subscription: deletes a subscription.
--   `p_anonymous` means that the request was not signed. An unsigned request suffices unless the subscription demands a
--     signature.
--   `p_confirmation` is the text that tells the endpoint. Null means that the service does not tell the endpoint. The
--     endpoint can restore the subscription within two days, with the token in the text.
--   `error` is NotFound, AuthorizationError or null.
-- Takes a shared lock on the topic's key, then locks the subscription's row, in the order that DeleteTopic uses.
create or replace function queue.drop_subscription(p_arn text, p_anonymous boolean, p_confirmation text)
returns table (error text)
language plpgsql as $$
declare
    v_subscription queue.subscription;
begin
    -- The condition removes `:` and the subscription's id from the ARN.
    perform from queue.topic t where t.arn = left(p_arn, -37) for key share;
    select * into v_subscription from queue.subscription s where s.arn = p_arn for update;
    if v_subscription.subscription_id is null then
        return query select 'NotFound'::text;
        return;
    end if;
    if p_anonymous and v_subscription.authenticates_unsubscribe then
        return query select 'AuthorizationError'::text;
        return;
    end if;
    if v_subscription.confirmed and p_confirmation is not null then
        insert into queue.former_subscription as f (topic_id, protocol, endpoint, subscription, token, expires_at)
        values (v_subscription.topic_id, v_subscription.protocol, v_subscription.endpoint, to_jsonb(v_subscription),
            p_confirmation::jsonb ->> 'Token', clock_timestamp() + interval '2 days')
        on conflict (topic_id, protocol, endpoint) do update
            set subscription = excluded.subscription, token = excluded.token, expires_at = excluded.expires_at;
        perform queue.notify_endpoint(v_subscription, 'UnsubscribeConfirmation', t.arn, p_confirmation)
        from queue.topic t where t.topic_id = v_subscription.topic_id;
    end if;
    delete from queue.subscription s where s.subscription_id = v_subscription.subscription_id;
    return query select null::text;
end $$;
