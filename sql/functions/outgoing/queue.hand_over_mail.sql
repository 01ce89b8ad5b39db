-- queue.hand_over_mail(message, confirmations): makes a webhook to the mail server of an outgoing message, whose row the caller
-- holds. What a dead-letter queue would get is the notice's `raw`; the rest of what the mail says is in `head`. The endpoint
-- is a name for each protocol, as that of the gateway is.
-- The message fails at once if its subscription has ended (NotSubscribed); if the server has refused five mails for the
-- subscription in a row (AddressDisabled: then it goes to the dead-letter queue, or is kept as exhausted); and a
-- confirmation that would wait for over two days (ConfirmationRateExceeded). A confirmation is good for two days from when
-- it goes out. Locks: the subscription of a confirmation; as give_up_webhooks. Called by: hand_over_outgoing.
create or replace function queue.hand_over_mail(p_message queue.outgoing, p_confirmations int) returns void
language plpgsql as $$
declare
    v_subscription queue.subscription;
    v_due timestamptz := clock_timestamp();
    v_error text;
    v_notice bigint;
    v_webhook bigint;
begin
    select * into v_subscription from queue.subscription s where s.arn = p_message.subscription_arn;
    if v_subscription.arn is null and p_message.kind <> 'UnsubscribeConfirmation' then
        v_error := 'NotSubscribed';
    elsif p_message.kind = 'SubscriptionConfirmation' then
        v_due := queue.confirmation_time(p_message.account_id, p_message.destination, p_confirmations);
        if v_due is null then
            v_error := 'ConfirmationRateExceeded';
        else
            update queue.subscription s set token_expires_at = greatest(s.token_expires_at, v_due + interval '2 days')
            where s.arn = v_subscription.arn and v_due > clock_timestamp();
        end if;
    end if;
    update queue.outgoing o set state = case when v_error is null then 'waiting' else 'failed' end, error = v_error
    where o.outgoing_id = p_message.outgoing_id;
    if v_error is not null then
        return;
    end if;
    insert into queue.notice (kind, topic_arn, message_id, raw, head, attributes)
    select 'mail', p_message.topic_arn, p_message.message_id, p_message.body, json_strip_nulls(json_build_object(
            'kind', p_message.kind, 'protocol', p_message.protocol, 'destination', p_message.destination,
            'subject', p_message.subject, 'display_name', nullif(t.attributes ->> 'DisplayName', ''),
            'unsubscribe_url', case when not v_subscription.authenticates_unsubscribe then p_message.unsubscribe_url end))::text,
        case when p_message.protocol = 'email' then p_message.attributes end
    from (select) one left join queue.topic t on t.arn = p_message.topic_arn
    returning notice_id into v_notice;
    insert into queue.webhook (notice_id, account_id, subscription_arn, endpoint, raw, outgoing_id, due_at, dead_letter_arn)
    values (v_notice, p_message.account_id, p_message.subscription_arn, 'smtp://mail/' || p_message.protocol, true,
        p_message.outgoing_id, v_due, case when p_message.kind = 'Notification' and v_subscription.dead_letter_queue_allowed
            then v_subscription.dead_letter_arn end)
    returning webhook_id into v_webhook;
    if p_message.kind = 'Notification' and v_subscription.mail_refusals >= 5 then
        update queue.webhook w set last_error = 'AddressDisabled' where w.webhook_id = v_webhook;
        perform queue.give_up_webhooks(array[v_webhook]);
        delete from queue.notice n
        where n.notice_id = v_notice and not exists (select from queue.webhook w where w.notice_id = n.notice_id);
    end if;
end $$;
