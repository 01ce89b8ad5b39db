-- queue.confirm_subscription: confirms a token's pending subscription. Returns the subscription's ARN. Only the region
-- and the account in the topic's ARN must match. A used token confirms the same subscription again. The token of an
-- UnsubscribeConfirmation restores the subscription under its ARN. If the endpoint has a new subscription, confirms the
-- new subscription. `error` is NotFound (no topic), BadToken (an unknown token, or a token older than two days), or the
-- result of subscription_refusal for a subscription that the token would restore. Takes a shared lock on the topic's
-- row.
create or replace function queue.confirm_subscription(p_topic text, p_token text, p_authenticates boolean)
returns table (arn text, error text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_topic queue.topic;
    v_former queue.subscription;
    v_arn text;
    v_error text;
begin
    select * into v_topic from queue.topic t
    where t.topic_id = coalesce(
            (select s.topic_id from queue.subscription s where s.token = p_token),
            (select f.topic_id from queue.former_subscription f where f.token = p_token),
            (select n.topic_id from queue.topic n where n.arn = p_topic))
        -- The compared parts of the ARN are the region and the account.
        and left(t.arn, -length(t.name)) = substring(p_topic from '^.*:')
    for share;
    update queue.subscription s
    set confirmed = true, authenticates_unsubscribe = s.authenticates_unsubscribe or p_authenticates
    where s.token = p_token and s.topic_id = v_topic.topic_id
        and (s.confirmed or s.token_expires_at > (select clock_timestamp()))
    returning s.arn into v_arn;
    if v_arn is null then
        select r.* into v_former
        from queue.former_subscription f, jsonb_populate_record(null::queue.subscription, f.subscription) r
        where f.token = p_token and f.topic_id = v_topic.topic_id and f.expires_at > (select clock_timestamp());
        v_error := queue.subscription_refusal(v_topic, v_former.protocol, v_former.owner, null, 0, 0);
    end if;
    if v_former.subscription_id is not null and v_error is null then
        insert into queue.subscription as s (subscription_id, topic_id, arn, owner, protocol, endpoint, attributes,
            filter, confirmed, token, token_expires_at, authenticates_unsubscribe, dead_letter_queue_allowed, principal)
        values (v_former.subscription_id, v_former.topic_id, v_former.arn, v_former.owner, v_former.protocol,
            v_former.endpoint, v_former.attributes, v_former.filter, true, p_token, v_former.token_expires_at,
            p_authenticates, coalesce(v_former.dead_letter_queue_allowed, true), v_former.principal)
        on conflict (topic_id, protocol, endpoint) do update
            set confirmed = true, authenticates_unsubscribe = s.authenticates_unsubscribe or p_authenticates
        returning s.arn into v_arn;
    end if;
    return query select v_arn, case when v_topic.topic_id is null then 'NotFound'
        when v_arn is null then coalesce(v_error, 'BadToken') end;
end $$;
