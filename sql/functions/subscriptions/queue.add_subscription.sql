-- queue.add_subscription: subscribes an endpoint to a topic. Returns the subscription's ARN. If the endpoint has a
-- subscription with equal attributes, returns that subscription. `p_defaults` contains the values of missing
-- attributes.
--   `p_attributes` is the attributes as the user wrote them.
--   `p_filter` is the compiled filter policy.
--   `p_token` is the token of the confirmation. Null means that the endpoint need not confirm.
--   `p_confirmation` is the text that asks the endpoint to confirm.
--   `p_topic_filters` and `p_account_filters` are the maximum numbers of filter policies, and 0 means no limit.
--   `p_policies` contains the policies by which the caller decided that the queues let the topic send
--     (policies_changed).
--   `p_principal` is the subscriber's ARN.
--   `p_password` is the password of a URL, which has **** in place of the password. The subscription's owner can change
--     the password by another call.
-- While a subscription is pending, every call asks the endpoint again to confirm, with a new token that is valid for
-- two days. A call asks an e-mail address at most once an hour, and only if no earlier mail waits. The errors are:
--   `NotFound` means that the topic does not exist.
--   `NoArchive` means that p_attributes has a ReplayPolicy, and the topic has no archive.
--   `PolicyChanged` means that a policy differs from p_policies.
--   `SubscriptionExists` means that the existing subscription has other attributes.
--   `SubscriptionLimitExceeded` means that a FIFO topic has 100 subscriptions.
--   `FilterPolicyLimitExceeded` means that the topic or the account has too many filter policies.
--   `LargeMessages` means that the topic accepts messages over 256 KiB. A topic of this kind can have at most 100
--     subscriptions, of queues.
-- Takes shared locks on the rows of the queues and the topic, so that their attributes do not change.
create or replace function queue.add_subscription(
    p_topic text, p_subscription_id uuid, p_owner text, p_protocol text, p_endpoint text, p_attributes jsonb,
    p_filter jsonb, p_token text, p_confirmation text, p_topic_filters int, p_account_filters int,
    p_policies jsonb, p_principal text, p_defaults jsonb default '{}', p_password text default null)
returns table (arn text, confirmed boolean, error text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_topic queue.topic;
    v_subscription queue.subscription;
    v_error text;
begin
    -- The policies and the topic
    if queue.policies_changed(p_policies) then
        return query select null::text, false, 'PolicyChanged'::text;
        return;
    end if;
    select * into v_topic from queue.topic t where t.arn = p_topic for share;
    if v_topic.topic_id is null then
        return query select null::text, false, 'NotFound'::text;
        return;
    end if;
    -- The existing or the new subscription
    loop
        select * into v_subscription from queue.subscription s
        where s.topic_id = v_topic.topic_id and s.protocol = p_protocol and s.endpoint = p_endpoint for update;
        exit when found;
        v_error := case
            when nullif(p_attributes ->> 'ReplayPolicy', '') is not null and v_topic.archive_id is null
            then 'NoArchive'
            else queue.subscription_refusal(v_topic, p_protocol, p_owner, p_filter, p_topic_filters,
                p_account_filters) end;
        if v_error is not null then
            return query select null::text, false, v_error;
            return;
        end if;
        insert into queue.subscription as s (subscription_id, topic_id, arn, owner, protocol, endpoint, attributes,
            filter, confirmed, principal)
        values (p_subscription_id, v_topic.topic_id, v_topic.arn || ':' || p_subscription_id, p_owner, p_protocol,
            p_endpoint, p_attributes, p_filter, p_token is null, p_principal)
        on conflict (topic_id, protocol, endpoint) do nothing
        returning * into v_subscription;
        if found then
            if nullif(p_attributes ->> 'ReplayPolicy', '') is not null then
                perform queue.start_replay(v_topic, p_subscription_id);
            end if;
            exit;
        end if;
    end loop;
    if queue.differing_attribute(p_defaults || v_subscription.attributes, p_attributes) is not null then
        return query select v_subscription.arn, v_subscription.confirmed, 'SubscriptionExists'::text;
        return;
    end if;
    if v_subscription.owner = p_owner then
        perform queue.store_endpoint_password(v_topic.account_id, v_topic.arn, p_endpoint, p_password);
    end if;
    -- The confirmation
    if not v_subscription.confirmed and not (p_protocol in ('email', 'email-json')
        and coalesce(v_subscription.token_expires_at > clock_timestamp() + interval '47 hours', false))
    then
        update queue.subscription s set token = p_token, token_expires_at = clock_timestamp() + interval '2 days'
        where s.subscription_id = v_subscription.subscription_id;
        perform queue.notify_endpoint(v_subscription, 'SubscriptionConfirmation', p_topic, p_confirmation);
    end if;
    return query select v_subscription.arn, v_subscription.confirmed, null::text;
end $$;
