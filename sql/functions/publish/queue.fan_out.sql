-- queue.fan_out: delivers messages to every subscription of a topic whose filter policy matches. If a queue refuses a
-- message, or its policy denies the topic, the message goes to the subscription's dead-letter queue. The exception is a
-- dead-letter queue whose policy also denies the topic. If the dead-letter queue also refuses the message, the function
-- stores the message as a delivery to the queue. The worker gives up, counts and logs this delivery, which stays as
-- exhausted.
--   `p_publications` has the format of publish_messages.
--   `p_enveloped` says whether the messages have envelopes. All subscriptions need envelopes except queues with raw
--     delivery.
-- If the messages have no envelopes, all standard queues without a filter share one set of arrays. Raises 40001 if the
-- messages have no envelopes, and a subscription that needs envelopes was added since the caller read the topic. Omits
-- subscriptions that receive from the archive, and raises 40001 if the archive is younger than the caller's topic.
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
        if v_subscription.archive_id is not null then
            if v_subscription.archive_id is distinct from p_topic.archive_id then
                raise exception 'the topic received another archive' using errcode = '40001';
            end if;
            continue;
        end if;
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
        if v_failed is not null and v_subscription.dead_letter_arn is not null then
            v_adds_deliveries := queue.publish_dead_letters(p_topic, v_subscription, v_failed) or v_adds_deliveries;
        end if;
    end loop;
    if v_adds_deliveries then
        perform queue.wake_deliveries();
    end if;
end $$;
