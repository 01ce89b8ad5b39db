-- queue.fan_out: delivers messages to every subscription of a topic whose filter policy matches. If a queue refuses a
-- message, or its policy denies the topic, the message goes to the subscription's dead-letter queue. The exception is a
-- dead-letter queue whose policy also denies the topic. If the dead-letter queue also refuses the message, the function
-- stores the message as a delivery to the queue. The worker gives up, counts and logs this delivery, which stays as
-- exhausted.
--   `p_publications` has the format of publish_messages.
--   `p_enveloped` says whether the messages have envelopes. All subscriptions need envelopes except queues with raw
--     delivery.
-- If the messages have no envelopes, all standard queues without a filter share one set of arrays. Raises 40001 if the
-- messages have no envelopes, and a subscription that needs envelopes was added since the caller read the topic.
-- This file also contains publish_to_queue and publish_to_endpoint.
create or replace function queue.fan_out(
    p_topic queue.topic, p_publications jsonb[], p_enveloped boolean) returns void
language plpgsql as $$
declare
    v_match record;
    v_subscription queue.subscription;
    v_failed jsonb[];
    v_adds_deliveries boolean := false;
    v_bodies text[];
    v_sizes int[];
    v_attributes jsonb[];
    v_system jsonb[];
begin
    for v_match in
        select s as subscription, m.publications
        from queue.subscription s
        cross join lateral (
            select case when s.filter is null then p_publications else (
                select array_agg(u.p order by u.n) from unnest(p_publications) with ordinality u(p, n)
                where queue.policy_matches(s.filter, u.p -> 'facts' -> s.filter_scope)) end as publications
            ) m
        where s.topic_id = p_topic.topic_id and s.confirmed and cardinality(m.publications) > 0
        order by s.endpoint, s.subscription_id
    loop
        v_subscription := v_match.subscription;
        if not p_enveloped and not (v_subscription.raw and v_subscription.protocol = 'sqs') then
            raise exception 'a subscription that needs envelopes was added' using errcode = '40001';
        end if;
        -- Endpoints that are not queues
        if v_subscription.protocol <> 'sqs' then
            if v_subscription.protocol in ('http', 'https') then
                perform queue.publish_to_endpoint(p_topic, v_subscription, v_match.publications);
            else
                perform queue.store_outgoing(p_topic, v_subscription, v_match.publications);
            end if;
            v_adds_deliveries := true;    -- Messages for a gateway also become deliveries.
            continue;
        end if;
        -- Queues
        if not v_subscription.target_allowed then
            v_failed := v_match.publications;
        elsif p_enveloped or v_subscription.filter is not null or queue.is_fifo_name(v_subscription.endpoint) then
            v_failed := queue.publish_to_queue(p_topic, v_subscription, v_subscription.endpoint, v_match.publications);
        else
            if v_bodies is null then
                select array_agg(k.body), array_agg(octet_length(k.body) + k.attribute_bytes), array_agg(k.attributes),
                    array_agg(queue.system_attributes(k.sent_group, k.trace))
                into v_bodies, v_sizes, v_attributes, v_system
                from (
                    select coalesce(u.p #>> '{contents,sqs,raw}', u.p #>> '{contents,*,raw}') as body,
                        (u.p ->> 'attribute_bytes')::int as attribute_bytes, u.p -> 'attributes' as attributes,
                        case when not p_topic.fifo then u.p ->> 'group_id' end as sent_group, u.p ->> 'trace' as trace
                    from unnest(p_publications) with ordinality u(p, n) order by u.n) k;
            end if;
            v_failed := (
                select array_agg(p_publications[s.n] order by s.n)
                from queue.send_messages(
                    p_queues => array_fill(v_subscription.endpoint, array[cardinality(v_bodies)]),
                    p_message_ids => array(select gen_random_uuid() from unnest(v_sizes)), p_bodies => v_bodies,
                    p_sizes => v_sizes, p_attributes => v_attributes, p_system => v_system) s
                where s.error is not null);
        end if;
        -- Messages that the queue refused
        if v_failed is not null and v_subscription.dead_letter_arn is not null
            and v_subscription.dead_letter_queue_allowed
        then
            v_failed := queue.publish_to_queue(p_topic, v_subscription, v_subscription.dead_letter_arn, v_failed);
        end if;
        if v_failed is not null and v_subscription.dead_letter_arn is not null then
            perform queue.publish_to_endpoint(p_topic, v_subscription, v_failed);
            v_adds_deliveries := true;
        end if;
    end loop;
    if v_adds_deliveries then
        perform queue.wake_deliveries();
    end if;
end $$;

-- queue.publish_to_queue: sends messages in their order to a subscribed queue or to the subscription's dead-letter
-- queue. Returns the messages that the queue refuses. A queue refuses messages that are too long, raw messages with
-- more than ten attributes, and all messages after its deletion. A dead-letter queue receives raw messages with too
-- many attributes in envelopes. In a FIFO queue of a standard topic, a message without a group has the topic's name as
-- group, and its message id as deduplication id. Standard queues do not receive the groups of a FIFO topic ("Message
-- grouping", SNS Developer Guide). Takes the locks of send_messages.
create or replace function queue.publish_to_queue(
    p_topic queue.topic, p_subscription queue.subscription, p_queue text, p_publications jsonb[])
returns jsonb[]
language plpgsql as $$
declare
    v_fifo boolean := queue.is_fifo_name(p_queue);
    v_numbers int[];
    v_bodies text[];
    v_sizes int[];
    v_attributes jsonb[];
    v_system jsonb[];
    v_groups text[];
    v_deduplication_ids text[];
    v_failed int[];
begin
    select array_agg(k.n), array_agg(k.body), array_agg(octet_length(k.body) + k.bytes), array_agg(k.attributes),
        array_agg(queue.system_attributes(k.sent_group, k.trace)), array_agg(k.group_id), array_agg(k.deduplication_id)
    into v_numbers, v_bodies, v_sizes, v_attributes, v_system, v_groups, v_deduplication_ids
    from (
        select u.n,
            case when r.raw then coalesce(u.p #>> array['contents', p_subscription.protocol, 'raw'],
                    u.p #>> '{contents,*,raw}')
                else queue.publication_text(u.p, p_subscription) end as body,
            case when r.raw then (u.p ->> 'attribute_bytes')::int else 0 end as bytes,
            case when r.raw then u.p -> 'attributes' end as attributes,
            case when not v_fifo and not p_topic.fifo then u.p ->> 'group_id' end as sent_group,
            u.p ->> 'trace' as trace,
            case when v_fifo then coalesce(u.p ->> 'group_id', p_topic.name) end as group_id,
            case when v_fifo then coalesce(u.p ->> 'deduplication_id', u.p ->> 'message_id') end as deduplication_id
        from unnest(p_publications) with ordinality u(p, n)
        cross join lateral (
            select p_subscription.raw and (u.p -> 'attributes' is null
                or (select count(*) <= 10 from jsonb_object_keys(u.p -> 'attributes'))) as raw) r
        where r.raw = p_subscription.raw or p_queue <> p_subscription.endpoint
        order by u.n) k;
    if v_numbers is not null then
        v_failed := array(
            select v_numbers[s.n] from queue.send_messages(
                p_queues => array_fill(p_queue, array[cardinality(v_numbers)]),
                p_message_ids => array(select gen_random_uuid() from unnest(v_numbers)), p_bodies => v_bodies,
                p_sizes => v_sizes, p_attributes => v_attributes, p_system => v_system, p_groups => v_groups,
                p_deduplication_ids => v_deduplication_ids) s
            where s.error is not null);
    end if;
    if v_failed = '{}' and cardinality(v_numbers) = cardinality(p_publications) then
        return null;
    end if;
    return (
        select array_agg(u.p order by u.n) from unnest(p_publications) with ordinality u(p, n)
        where u.n = any (v_failed) or coalesce(u.n <> all (v_numbers), true));
end $$;

-- queue.publish_to_endpoint: stores a delivery to a subscribed URL for each message. URLs that receive the same text
-- share a row of queue.notice. Uses the index notice_message.
create or replace function queue.publish_to_endpoint(
    p_topic queue.topic, p_subscription queue.subscription, p_publications jsonb[]) returns void
language plpgsql as $$
declare
    v_publication jsonb;
    v_message_id uuid;
    v_content jsonb;
    v_notice bigint;
begin
    foreach v_publication in array p_publications loop
        v_message_id := v_publication ->> 'message_id';
        v_content := coalesce(v_publication #> array['contents', p_subscription.protocol],
            v_publication #> '{contents,*}');
        select n.notice_id into v_notice from queue.notice n
        where n.message_id = v_message_id and n.raw = v_content ->> 'raw';
        if v_notice is null then
            insert into queue.notice (kind, topic_arn, message_id, raw, head, tail, attributes, trace)
            values ('Notification', p_topic.arn, v_message_id, v_content ->> 'raw', v_content ->> 'head',
                v_content ->> 'tail', v_publication -> 'attributes', v_publication ->> 'trace')
            returning notice_id into v_notice;
        end if;
        insert into queue.outgoing_delivery (notice_id, account_id, subscription_arn, endpoint, raw,
            subscription_policy, topic_policy, dead_letter_arn)
        values (v_notice, p_topic.account_id, p_subscription.arn, p_subscription.endpoint, p_subscription.raw,
            p_subscription.attributes ->> 'DeliveryPolicy', p_topic.attributes ->> 'DeliveryPolicy',
            case when p_subscription.dead_letter_queue_allowed then p_subscription.dead_letter_arn end);
    end loop;
end $$;
