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
