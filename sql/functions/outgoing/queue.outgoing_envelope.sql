-- queue.outgoing_envelope(topic, subscription, publication, text): what the dead-letter queue of a subscription of a phone,
-- of a mobile app or by e-mail gets: the envelope of the message for all protocols, or, for a text of its own, which Publish makes no
-- envelope of, one without a signature. Called by: publish_to_outbox.
create or replace function queue.outgoing_envelope(
    p_topic queue.topic, p_subscription queue.subscription, p_publication jsonb, p_text text) returns text
language sql stable as $$
select case when p_text = p_publication #>> '{contents,*,raw}' and p_publication #> '{contents,*,head}' is not null
    then (p_publication #>> '{contents,*,head}') || p_subscription.arn || (p_publication #>> '{contents,*,tail}')
    else json_strip_nulls(json_build_object('Type', 'Notification', 'MessageId', p_publication ->> 'message_id', 'TopicArn', p_topic.arn,
        'Subject', p_publication ->> 'subject', 'Message', p_text,
        'Timestamp', to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'MessageAttributes', (
            select json_object_agg(a.key, json_build_object('Type', a.value ->> 'DataType',
                'Value', coalesce(a.value ->> 'StringValue', a.value ->> 'BinaryValue')))
            from jsonb_each(p_publication -> 'attributes') a)))::text end
$$;
