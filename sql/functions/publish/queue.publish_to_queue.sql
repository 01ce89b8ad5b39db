-- queue.publish_to_queue(topic, subscription, queue's ARN, publications): sends messages to a subscribed queue, or to
-- the subscription's dead-letter queue, in their order. A FIFO queue under a standard topic gets the topic's name as
-- group where the message has none, and the message's id for deduplication; standard queues do not get the groups of a
-- FIFO topic (source: SNS Developer Guide, "Message grouping"). Returns the messages that the queue could not take: the
-- queue was deleted, or they are too long, or raw with more than ten attributes. A dead-letter queue gets such raw
-- messages in envelopes.
-- Locks: those of send_messages. Called by: fan_out.
create or replace function queue.publish_to_queue(
    p_topic queue.topic, p_subscription queue.subscription, p_queue text, p_publications jsonb[])
returns jsonb[]
language plpgsql as $$
declare
    v_fifo boolean := right(p_queue, 5) = '.fifo';
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
        array_agg(queue.system_attributes(k.tenant, k.trace)), array_agg(k.group_id), array_agg(k.deduplication_id)
    into v_numbers, v_bodies, v_sizes, v_attributes, v_system, v_groups, v_deduplication_ids
    from (
        select u.n,
            case when r.raw then coalesce(u.p #>> array['contents', p_subscription.protocol, 'raw'],
                    u.p #>> '{contents,*,raw}')
                else queue.publication_text(u.p, p_subscription) end as body,
            case when r.raw then (u.p ->> 'attribute_bytes')::int else 0 end as bytes,
            case when r.raw then u.p -> 'attributes' end as attributes,
            case when not v_fifo and not p_topic.fifo then u.p ->> 'group_id' end as tenant, u.p ->> 'trace' as trace,
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
            select v_numbers[s.n] from queue.send_messages(array_fill(p_queue, array[cardinality(v_numbers)]),
                array(select gen_random_uuid() from unnest(v_numbers)), v_bodies, v_sizes, v_attributes, v_system, null,
                v_groups, v_deduplication_ids) s
            where s.error is not null);
    end if;
    if v_failed = '{}' and cardinality(v_numbers) = cardinality(p_publications) then
        return null;
    end if;
    return (
        select array_agg(u.p order by u.n) from unnest(p_publications) with ordinality u(p, n)
        where u.n = any (v_failed) or coalesce(u.n <> all (v_numbers), true));
end $$;
