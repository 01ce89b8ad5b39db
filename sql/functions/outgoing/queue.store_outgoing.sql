-- queue.store_outgoing: stores an outgoing message for each publication. The messages are for phones, mobile apps,
-- e-mail, Lambda functions and streams. Text messages, pushes and raw messages contain only the published message.
-- Messages for other protocols contain the envelope. A message for an opted-out number, or a disabled or missing
-- endpoint, fails at once and goes to the dead-letter queue. The unsubscribe link of an e-mail comes from the end of
-- the envelope's `head` and the subscription's ARN. Takes the locks of dead_letter_outgoing. This file also contains
-- outgoing_envelope.
create or replace function queue.store_outgoing(
    p_topic queue.topic, p_subscription queue.subscription, p_publications jsonb[]) returns void
language plpgsql as $$
declare
    v_error text := queue.outgoing_refusal(p_topic.account_id, p_topic.region, p_subscription.protocol,
        p_subscription.endpoint);
    v_dead_letters text := case when p_subscription.protocol in ('sms', 'application', 'email', 'email-json', 'lambda')
        and p_subscription.dead_letter_queue_allowed then p_subscription.dead_letter_arn end;
    v_text_of text := case p_subscription.protocol when 'application' then split_part(p_subscription.endpoint, '/', 2)
        else p_subscription.protocol end;
    v_ids bigint[];
begin
    with made as (
        insert into queue.outgoing (account_id, region, protocol, kind, destination, message_id, topic_arn,
            subscription_arn, subject, body, attributes, state, error, dead_letter_arn, envelope, unsubscribe_url)
        select p_topic.account_id, p_topic.region, p_subscription.protocol, 'Notification', p_subscription.endpoint,
            (u.p ->> 'message_id')::uuid, p_topic.arn, p_subscription.arn, u.p ->> 'subject',
            case when p_subscription.raw or p_subscription.protocol in ('sms', 'application', 'email') then t.text
                else queue.publication_text(u.p, p_subscription) end,
            u.p -> 'attributes', case when v_error is null then 'kept' else 'failed' end, v_error, v_dead_letters,
            case when v_dead_letters is null then null
                when p_subscription.protocol in ('email-json', 'lambda')
                    then queue.publication_text(u.p, p_subscription)
                else queue.outgoing_envelope(p_topic, p_subscription, u.p, t.text) end,
            case when p_subscription.protocol in ('email', 'email-json')
                then right(t.head, strpos(reverse(t.head), '"') - 1) || p_subscription.arn end
        from unnest(p_publications) with ordinality u(p, n)
        cross join lateral (
            select coalesce(u.p #>> array['contents', v_text_of, 'raw'], u.p #>> '{contents,*,raw}') as text,
                u.p #>> '{contents,*,head}' as head) t
        order by u.n
        returning outgoing_id)
    select array_agg(m.outgoing_id) into v_ids from made m;
    if v_error is not null and v_dead_letters is not null then
        perform queue.dead_letter_outgoing(v_ids);
    end if;
end $$;

-- queue.outgoing_envelope: returns the message for a dead-letter queue. The subscription belongs to a phone, a mobile
-- app or e-mail. Publish makes no envelope for a protocol's special text, so this function makes an envelope without a
-- signature.
create or replace function queue.outgoing_envelope(
    p_topic queue.topic, p_subscription queue.subscription, p_publication jsonb, p_text text) returns text
language sql stable as $$
select case when p_text = p_publication #>> '{contents,*,raw}' and p_publication #> '{contents,*,head}' is not null
    then (p_publication #>> '{contents,*,head}') || p_subscription.arn || (p_publication #>> '{contents,*,tail}')
    else json_strip_nulls(json_build_object('Type', 'Notification', 'MessageId', p_publication ->> 'message_id',
        'TopicArn', p_topic.arn, 'Subject', p_publication ->> 'subject', 'Message', p_text,
        'Timestamp', to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'MessageAttributes', (
            select json_object_agg(a.key, json_build_object('Type', a.value ->> 'DataType',
                'Value', coalesce(a.value ->> 'StringValue', a.value ->> 'BinaryValue')))
            from jsonb_each(p_publication -> 'attributes') a)))::text end
$$;
