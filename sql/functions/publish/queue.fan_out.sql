-- queue.fan_out(topic, publications, enveloped): delivers messages to every subscription of a topic whose filter policy
-- they match. Messages that a queue cannot take, or whose policy does not let the topic send, go to the subscription's
-- dead-letter queue, if it has one whose policy does.
-- p_publications: as publish_messages gets them. p_enveloped: whether the messages have envelopes. All subscriptions need
-- envelopes, except queues with raw delivery. Without envelopes, all standard queues that get all of the messages get the
-- same arrays, which are made once.
-- Raises 40001 when the messages have no envelopes and a subscription that needs them was added since the caller read
-- the topic. Index: subscription_topic_id_protocol_endpoint_key. Called by: publish_messages.
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
        if v_subscription.protocol <> 'sqs' then
            if v_subscription.protocol in ('http', 'https') then
                perform queue.publish_to_endpoint(p_topic, v_subscription, v_match.publications);
            else
                perform queue.publish_to_outbox(p_topic, v_subscription, v_match.publications);
            end if;
            v_adds_deliveries := true;    -- or messages that a gateway carries
            continue;
        end if;
        if not v_subscription.target_allowed then
            v_failed := v_match.publications;
        elsif p_enveloped or v_subscription.filter is not null or right(v_subscription.endpoint, 5) = '.fifo' then
            v_failed := queue.publish_to_queue(p_topic, v_subscription, v_subscription.endpoint, v_match.publications);
        else
            if v_bodies is null then
                select array_agg(k.body order by k.n), array_agg(octet_length(k.body) + k.attribute_bytes order by k.n),
                    array_agg(k.attributes order by k.n), array_agg(queue.system_attributes(k.tenant, k.trace) order by k.n)
                into v_bodies, v_sizes, v_attributes, v_system
                from (
                    select u.n, coalesce(u.p #>> '{contents,sqs,raw}', u.p #>> '{contents,*,raw}') as body,
                        (u.p ->> 'attribute_bytes')::int as attribute_bytes, u.p -> 'attributes' as attributes,
                        case when not p_topic.fifo then u.p ->> 'group_id' end as tenant, u.p ->> 'trace' as trace
                    from unnest(p_publications) with ordinality u(p, n)) k;
            end if;
            v_failed := (
                select array_agg(p_publications[s.n] order by s.n)
                from queue.send_messages(array_fill(v_subscription.endpoint, array[cardinality(v_bodies)]),
                    array(select gen_random_uuid() from unnest(v_sizes)), v_bodies, v_sizes, v_attributes, v_system, null,
                    null, null) s
                where s.error is not null);
        end if;
        if v_failed is not null and v_subscription.dead_letter_arn is not null
            and v_subscription.dead_letter_queue_allowed
        then
            perform queue.publish_to_queue(p_topic, v_subscription, v_subscription.dead_letter_arn, v_failed);
        end if;
    end loop;
    if v_adds_deliveries then
        perform queue.wake_deliveries();
    end if;
end $$;
