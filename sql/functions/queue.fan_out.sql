-- queue.fan_out(topic, publications, enveloped): hands messages to every subscription of a topic whose filter policy they
-- match. What a queue cannot take goes to the subscription's dead-letter queue, if it has one.
-- p_enveloped: whether the messages have envelopes, which all subscriptions want but queues with raw delivery.
-- Raises 40001: they have none, and one is wanted since the caller looked.
-- Index: subscription_topic_id_protocol_endpoint_key. Called by: publish_messages.
drop function if exists queue.fan_out(queue.topic, queue.publication[]);
create or replace function queue.fan_out(
    p_topic queue.topic, p_entries queue.publication[], p_enveloped boolean) returns void
language plpgsql as $$
declare
    v_match record;
    v_failed queue.publication[];
    v_posts boolean := false;
begin
    for v_match in
        select s as subscription, m.entries
        from queue.subscription s
        cross join lateral (
            select case when s.filter is null then p_entries else (
                select array_agg(e order by e.n) from unnest(p_entries) e
                where queue.policy_matches(s.filter,
                    case s.filter_scope when 'MessageBody' then e.body_facts else e.attribute_facts end)) end as entries
            ) m
        where s.topic_id = p_topic.topic_id and s.confirmed and cardinality(m.entries) > 0
        order by s.endpoint, s.subscription_id
    loop
        if not p_enveloped and not ((v_match.subscription).raw and (v_match.subscription).protocol = 'sqs') then
            raise exception 'a subscription has changed' using errcode = '40001';
        end if;
        if (v_match.subscription).protocol = 'sqs' then
            v_failed := queue.publish_to_queue(p_topic, v_match.subscription, (v_match.subscription).endpoint,
                v_match.entries);
            if v_failed is not null and (v_match.subscription).dead_letter_arn is not null then
                perform queue.publish_to_queue(p_topic, v_match.subscription, (v_match.subscription).dead_letter_arn,
                    v_failed);
            end if;
        else
            perform queue.publish_to_endpoint(p_topic, v_match.subscription, v_match.entries);
            v_posts := true;
        end if;
    end loop;
    if v_posts then
        perform queue.wake_webhooks();
    end if;
end $$;
