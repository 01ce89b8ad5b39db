-- queue.hand_over_to_function(message): makes an invocation of a function of Lambda of an outgoing message, whose row the
-- caller holds. Its text is the envelope, of which delivery/functions/event.py makes the event.
-- Returns null, or why the message cannot go out: its subscription has ended (NotSubscribed); its function is in another
-- account than who subscribed (FunctionNotAllowed), as a release that invoked none let anybody subscribe.
-- Called by: hand_over_outgoing.
create or replace function queue.hand_over_to_function(p_message queue.outgoing) returns text
language plpgsql as $$
declare
    v_owner text := (select s.owner from queue.subscription s where s.arn = p_message.subscription_arn);
    v_notice bigint;
begin
    if v_owner is null then
        return 'NotSubscribed';
    elsif v_owner <> split_part(p_message.destination, ':', 5) then
        return 'FunctionNotAllowed';
    end if;
    insert into queue.notice (kind, topic_arn, message_id, raw)
    values ('lambda', p_message.topic_arn, p_message.message_id, p_message.body)
    returning notice_id into v_notice;
    insert into queue.outgoing_delivery (notice_id, account_id, subscription_arn, endpoint, raw, outgoing_id, dead_letter_arn)
    values (v_notice, p_message.account_id, p_message.subscription_arn, p_message.destination, true,
        p_message.outgoing_id, p_message.dead_letter_arn);
    return null;
end $$;
