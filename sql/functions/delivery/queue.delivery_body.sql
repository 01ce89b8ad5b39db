-- queue.delivery_body: returns the text for a URL or a dead-letter queue. The envelope of an event is SNS's envelope
-- without a signature.
create or replace function queue.delivery_body(p_raw boolean, p_subscription_arn text, p_notice queue.notice)
returns text
language sql stable parallel safe
return case
    when not p_raw and (p_notice).head is not null
        then (p_notice).head || coalesce(p_subscription_arn, '') || coalesce((p_notice).tail, '')
    when not p_raw and (p_notice).kind = 'event' then json_build_object(
        'Type', 'Notification', 'MessageId', (p_notice).message_id, 'TopicArn', (p_notice).topic_arn,
        'Message', (p_notice).raw,
        'Timestamp', to_char((p_notice).created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text
    else (p_notice).raw end;
