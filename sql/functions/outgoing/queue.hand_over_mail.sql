-- queue.hand_over_mail(message, confirmations): makes a delivery to the mail server of an outgoing message, whose row the caller
-- holds. Its text is JSON, which delivery/mail/message.py reads. Its endpoint is a name for each protocol, as that of the
-- gateway is. A confirmation is good for two days from when it goes out.
-- Returns null, or why the message cannot go out: its subscription has ended (NotSubscribed); the server has refused five mails
-- for the subscription in a row (AddressDisabled); there is no time for a confirmation (ConfirmationRateExceeded).
-- Locks: those of confirmation_time, then the subscription of a confirmation. Called by: hand_over_outgoing.
create or replace function queue.hand_over_mail(p_message queue.outgoing, p_confirmations int) returns text
language plpgsql as $$
declare
    v_subscription queue.subscription;
    v_due timestamptz := clock_timestamp();
    v_notice bigint;
begin
    select * into v_subscription from queue.subscription s where s.arn = p_message.subscription_arn;
    if v_subscription.arn is null and p_message.kind <> 'UnsubscribeConfirmation' then
        return 'NotSubscribed';
    elsif p_message.kind = 'Notification' and v_subscription.mail_refusals >= 5 then
        return 'AddressDisabled';
    elsif p_message.kind = 'SubscriptionConfirmation' then
        v_due := queue.confirmation_time(p_message.account_id, p_message.destination, p_confirmations);
        if v_due is null then
            return 'ConfirmationRateExceeded';
        end if;
        update queue.subscription s set token_expires_at = greatest(s.token_expires_at, v_due + interval '2 days')
        where s.arn = v_subscription.arn and v_due > clock_timestamp();
    end if;
    insert into queue.notice (kind, topic_arn, message_id, raw, head)
    select 'mail', p_message.topic_arn, p_message.message_id, json_strip_nulls(json_build_object(
        'kind', p_message.kind, 'protocol', p_message.protocol, 'destination', p_message.destination,
        'subject', p_message.subject, 'display_name', nullif(t.attributes ->> 'DisplayName', ''), 'text', p_message.body,
        'unsubscribe_url', case when not v_subscription.authenticates_unsubscribe then p_message.unsubscribe_url end))::text,
        p_message.envelope
    from (select) one left join queue.topic t on t.arn = p_message.topic_arn
    returning notice_id into v_notice;
    insert into queue.outgoing_delivery (notice_id, account_id, subscription_arn, endpoint, raw, outgoing_id, due_at, dead_letter_arn)
    values (v_notice, p_message.account_id, p_message.subscription_arn, 'smtp://mail/' || p_message.protocol, true,
        p_message.outgoing_id, v_due, p_message.dead_letter_arn);
    return null;
end $$;
