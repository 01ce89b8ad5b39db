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
