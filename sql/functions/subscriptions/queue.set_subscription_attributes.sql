-- queue.set_subscription_attributes: replaces the given attributes and the compiled filter policy. A null value removes
-- an attribute.
--   `p_known` contains the attributes that the caller read, from which the caller compiled p_filter.
--   `p_policies` is the policy by which the caller decided that the queue of a new RedrivePolicy lets the topic send
--     (policies_changed).
--   `error` is NotFound, Changed, FilterPolicyLimitExceeded or null. Changed means that the attributes differ from
--     p_known, or the policy from p_policies.
create or replace function queue.set_subscription_attributes(
    p_arn text, p_known jsonb, p_attributes jsonb, p_filter jsonb, p_topic_filters int, p_account_filters int,
    p_policies jsonb)
returns table (error text)
language plpgsql as $$
declare
    v_subscription queue.subscription;
    v_error text;
begin
    if queue.policies_changed(p_policies) then
        return query select 'Changed'::text;
        return;
    end if;
    select * into v_subscription from queue.subscription s where s.arn = p_arn for update;
    v_error := case
        when v_subscription.subscription_id is null then 'NotFound'
        when v_subscription.attributes <> p_known then 'Changed'
        when p_filter is not null and v_subscription.filter is null and queue.filter_limit_reached(
            v_subscription.topic_id, v_subscription.owner, p_topic_filters, p_account_filters)
            then 'FilterPolicyLimitExceeded' end;
    if v_error is null then
        update queue.subscription s
        set attributes = jsonb_strip_nulls(s.attributes || p_attributes), filter = p_filter,
            dead_letter_queue_allowed = s.dead_letter_queue_allowed or p_attributes ? 'RedrivePolicy'
        where s.arn = p_arn;
    end if;
    return query select v_error;
end $$;
