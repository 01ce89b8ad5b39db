-- queue.drop_subscription(arn, anonymous, text): deletes a subscription; p_confirmation tells an http(s) endpoint of it.
-- p_anonymous: the caller has not shown who it is, which is enough unless the subscription asks for more.
-- Returns one row: error (NotFound, AuthorizationError) or null. Called by: Unsubscribe.
create or replace function queue.drop_subscription(p_arn text, p_anonymous boolean, p_confirmation text)
returns table (error text)
language plpgsql as $$
declare
    v_subscription queue.subscription;
begin
    select * into v_subscription from queue.subscription s where s.arn = p_arn for update;
    if v_subscription.subscription_id is null then
        return query select 'NotFound'::text;
        return;
    end if;
    if p_anonymous and v_subscription.authenticates_unsubscribe then
        return query select 'AuthorizationError'::text;
        return;
    end if;
    if v_subscription.confirmed and v_subscription.protocol <> 'sqs' then
        perform queue.notify_endpoint(v_subscription, 'UnsubscribeConfirmation', t.arn, p_confirmation)
        from queue.topic t where t.topic_id = v_subscription.topic_id;
    end if;
    delete from queue.subscription s where s.subscription_id = v_subscription.subscription_id;
    return query select null::text;
end $$;
