-- queue.publish_to_queue(topic, subscription, queue's ARN, publications): sends messages to a subscribed queue, or to the
-- subscription's dead-letter queue, in their order. A FIFO queue under a standard topic gets the topic's name as group
-- where the message has none, and the message's id for deduplication; a FIFO topic's groups are not told to standard
-- queues (source: SNS Developer Guide, "Message grouping"). Returns the messages that the queue could not take: it is
-- gone, they are too long, or raw with more than ten attributes: these arrive enveloped in a dead-letter queue.
-- Locks: those of send_messages. Called by: fan_out.
create or replace function queue.publish_to_queue(
    p_topic queue.topic, p_subscription queue.subscription, p_queue text, p_entries queue.publication[])
returns queue.publication[]
language plpgsql as $$
declare
    v_fifo boolean := right(p_queue, 5) = '.fifo';
    v_failed queue.publication[];
begin
    with entry as materialized (
        select k.*, row_number() over (order by k.n) as number,
            queue.publication_text(k.e, p_subscription, k.raw) as body
        from (
            select e, e.n, p_subscription.raw and (
                select count(*) <= 10 from jsonb_object_keys(coalesce(e.attributes, '{}'))) as raw
            from unnest(p_entries) e) k
        where k.raw = p_subscription.raw or p_queue <> p_subscription.endpoint),
    sent as (
        select s.n, s.error from (
            select array_agg(p_queue) as queues, array_agg(gen_random_uuid()) as ids,
                array_agg(k.body order by k.number) as bodies,
                array_agg(octet_length(k.body) + case when k.raw then (k.e).attribute_bytes else 0 end
                    order by k.number) as sizes,
                array_agg(case when k.raw then (k.e).attributes end order by k.number) as attributes,
                array_agg(queue.system_of(case when not v_fifo and not p_topic.fifo then (k.e).group_id end,
                    (k.e).contents ->> 'trace') order by k.number) as system,
                array_agg(case when v_fifo then coalesce((k.e).group_id, p_topic.name) end order by k.number) as groups,
                array_agg(case when v_fifo then coalesce((k.e).deduplication_id, (k.e).message_id::text) end
                    order by k.number) as deduplication_ids
            from entry k) a
        cross join lateral queue.send_messages(a.queues, a.ids, a.bodies, a.sizes, a.attributes, a.system, null,
            a.groups, a.deduplication_ids) s
        where a.queues is not null)
    select array_agg(e order by e.n) into v_failed
    from unnest(p_entries) e
    where not exists (select from entry k join sent s on s.n = k.number and s.error is null where k.n = e.n);
    return v_failed;
end $$;
