-- The outgoing messages of queues, topics and the SQL interface.

-- queue.store_outgoing: stores an outgoing message for each publication. The messages are for phones, mobile apps,
-- e-mail, Lambda functions and streams. Text messages, pushes and raw messages contain only the published message.
-- Messages for other protocols contain the envelope. A message for an opted-out number, or a disabled or missing
-- endpoint, fails at once and goes to the dead-letter queue. The unsubscribe link of an e-mail comes from the end of
-- the envelope's `head` and the subscription's ARN. Takes the locks of dead_letter_outgoing.
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

-- queue.send_outgoing: stores a message for a phone number or an endpoint of a mobile app. `error` is EndpointDisabled,
-- PlatformApplicationDisabled, EndpointNotFound, or RequestThrottled if too many messages of the account wait for the
-- gateway. Does not store the message if the function returns an error. Stores a message for an opted-out number as
-- failed without an error, because AWS also accepts such a message and does not deliver it.
create or replace function queue.send_outgoing(
    p_account_id text, p_region text, p_protocol text, p_kind text, p_destination text, p_message_id uuid,
    p_subject text, p_body text, p_attributes jsonb)
returns table (error text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_error text := queue.outgoing_refusal(p_account_id, p_region, p_protocol, p_destination);
begin
    if v_error is null and exists (
        select from queue.delivery_excess e where e.account_id = p_account_id and e.protocol = p_protocol)
    then
        v_error := 'RequestThrottled';
    elsif v_error is null or v_error = 'OptedOut' then
        insert into queue.outgoing (account_id, region, protocol, kind, destination, message_id, subject, body,
            attributes, state, error)
        values (p_account_id, p_region, p_protocol, p_kind, p_destination, p_message_id, p_subject, p_body,
            p_attributes, case when v_error is null then 'kept' else 'failed' end, v_error);
        perform queue.wake_deliveries();
    end if;
    return query select nullif(v_error, 'OptedOut');
end $$;

-- queue.outgoing_refusal: returns why a message cannot reach its destination, or null. The reasons are:
--   `OptedOut` means that the phone number is opted out.
--   `EndpointNotFound` means that the endpoint of the mobile app or its application does not exist.
--   `EndpointDisabled` means that the endpoint is disabled.
--   `PlatformApplicationDisabled` means that the application is disabled.
create or replace function queue.outgoing_refusal(p_account_id text, p_region text, p_protocol text, p_destination text)
returns text
language sql stable as $$
select case
    when p_protocol = 'sms' and exists (
        select from queue.opted_out_number o
        where (o.account_id, o.region, o.phone_number) = (p_account_id, p_region, p_destination)
            and o.opted_out) then 'OptedOut'
    when p_protocol = 'application' then (
        select case when a.arn is null then 'EndpointNotFound'
            when e.attributes ->> 'Enabled' = 'false' then 'EndpointDisabled'
            when a.attributes ->> 'Enabled' = 'false' then 'PlatformApplicationDisabled' end
        from (select) one
        left join queue.platform_endpoint e on e.arn = p_destination
        left join queue.platform_application a on a.application_id = e.application_id) end
$$;

-- queue.list_outgoing: returns outgoing messages of an account in the order of their ids.
--   `p_protocol` and `p_destination` restrict the result to matching messages. Null means any message.
--   `p_after` restricts the result to greater ids, and null means all ids.
--   `p_bytes` is the maximum size of texts and attributes. The first message can exceed this size.
-- Times are in milliseconds since 1970. Uses the index outgoing_account.
create or replace function queue.list_outgoing(
    p_account_id text, p_protocol text, p_destination text, p_after bigint, p_limit int, p_bytes int)
returns table (
    outgoing_id bigint, created_at_ms bigint, region text, protocol text, kind text, destination text, message_id uuid,
    topic_arn text, subscription_arn text, subject text, body text, attributes text, state text, error text)
language sql stable as $$
select o.outgoing_id, queue.epoch_ms(o.created_at), o.region, o.protocol, o.kind, o.destination, o.message_id,
    o.topic_arn, o.subscription_arn, o.subject, o.body, o.attributes::text, o.state, o.error
from (
    select g.*, sum(octet_length(g.body) + coalesce(octet_length(g.attributes::text), 0)) over w as bytes,
        row_number() over w as place
    from (
        select * from queue.outgoing e
        where e.account_id = p_account_id and e.outgoing_id > coalesce(p_after, 0)
            and (p_protocol is null or e.protocol = p_protocol)
            and (p_destination is null or e.destination = p_destination)
        order by e.outgoing_id limit p_limit) g
    window w as (order by g.outgoing_id)) o
where o.place = 1 or o.bytes <= p_bytes
order by o.outgoing_id
$$;

-- queue.dead_letter_outgoing: sends the envelopes of failed outgoing messages to the dead-letter queues of their
-- subscriptions, with the error as the attribute PenstockError. Messages whose subscription has no dead-letter queue
-- stay. If a queue refuses a message, the function records the error. SNS does not retry client-side errors ("Amazon
-- SNS dead-letter queues", SNS Developer Guide). The caller has locked the messages' rows. Takes the locks of
-- queue.send_messages.
create or replace function queue.dead_letter_outgoing(p_ids bigint[]) returns void
language plpgsql as $$
declare
    v_failed record;
begin
    select array_agg(o.outgoing_id order by o.outgoing_id) as ids,
        array_agg(o.dead_letter_arn order by o.outgoing_id) as arns,
        array_agg(gen_random_uuid()) as message_ids,
        array_agg(o.envelope order by o.outgoing_id) as bodies,
        array_agg(octet_length(o.envelope) order by o.outgoing_id) as sizes,
        array_agg(queue.with_error(null, o.error) order by o.outgoing_id) as attributes,
        -- A FIFO queue also accepts these messages. Each message has a separate group, as in give_up_deliveries.
        array_agg('outgoing-' || o.outgoing_id order by o.outgoing_id) as groups
    into v_failed
    from queue.outgoing o where o.outgoing_id = any (p_ids) and o.dead_letter_arn is not null
        and o.envelope is not null;
    if v_failed.ids is not null then
        update queue.outgoing o set error = concat_ws('; ', o.error, 'dead-letter queue: ' || s.error)
        from queue.send_messages(
            p_queues => v_failed.arns, p_message_ids => v_failed.message_ids, p_bodies => v_failed.bodies,
            p_sizes => v_failed.sizes, p_attributes => v_failed.attributes, p_groups => v_failed.groups,
            p_deduplication_ids => v_failed.groups) s
        where s.error is not null and o.outgoing_id = v_failed.ids[s.n];
    end if;
end $$;

-- queue.clean_outgoing: removes old outgoing messages. Returns the number of removed rows.
--   `p_limit` is the maximum number of removed messages for each kind and account.
--   `p_days` is the age in days above which the function removes a message.
--   `p_max` is the number of each account's newest messages that stay. A value of 0 means no limit.
--   `p_protocols` contains protocols with a carrier. Their messages of the last six hours stay for the carrier
--     (hand_over_outgoing).
-- Skips locked messages, and therefore does not wait for settle_deliveries. Uses the indexes outgoing_pkey and
-- outgoing_account.
create or replace function queue.clean_outgoing(p_limit int, p_days int, p_max int, p_protocols text[]) returns bigint
language plpgsql as $$
declare
    v_removed bigint;
    v_rows bigint;
    v_account text := '';
begin
    delete from queue.outgoing o where o.outgoing_id = any (array(
        select e.outgoing_id from queue.outgoing e
        where e.outgoing_id <= (
            select max(f.outgoing_id) from (
                select g.outgoing_id from queue.outgoing g order by g.outgoing_id limit p_limit) f)
            and e.created_at < (select clock_timestamp()) - p_days * interval '1 day'
        order by e.outgoing_id for update skip locked));
    get diagnostics v_removed = row_count;
    while p_max > 0 loop
        v_account := (
            select o.account_id from queue.outgoing o where o.account_id > v_account order by o.account_id limit 1);
        exit when v_account is null;
        delete from queue.outgoing o where o.outgoing_id = any (array(
            select e.outgoing_id from queue.outgoing e
            where e.account_id = v_account and e.outgoing_id <= (
                select n.outgoing_id from queue.outgoing n where n.account_id = v_account
                order by n.outgoing_id desc offset p_max limit 1)
                and not (e.protocol = any (p_protocols) and (e.state = 'waiting' or e.state = 'kept'
                    and e.created_at > (select clock_timestamp()) - interval '6 hours'))
            order by e.outgoing_id limit p_limit for update skip locked));
        get diagnostics v_rows = row_count;
        v_removed := v_removed + v_rows;
    end loop;
    return v_removed;
end $$;
