-- queue.publish_event(routing key, message, headers, delay): an event for every queue and URL bound to its key, inside the
-- caller's transaction: with its commit all of them have it, or none. Returns one row a queue: its name and the message's id.
-- Filter policies are compared with the message's top-level strings, numbers and truth values.
-- Raises QU003 (a key, message or delay that is not allowed). SQL interface.
create or replace function queue.publish_event(
    p_routing_key text, p_message jsonb, p_headers jsonb default null, p_delay int default null)
returns table (queue_name text, msg_id bigint)
language plpgsql as $$
begin
    if p_message is null or p_delay not between 0 and 900 then
        raise exception 'a message is not null and a delay 0 to 900 seconds' using errcode = 'QU003';
    end if;
    return query
    select split_part(e.arn, ':', 6), e.id
    from queue.publish_events('000000000000', 'us-east-1', p_routing_key, p_message::text,
        queue.as_attributes(p_headers), p_headers, queue.body_facts(p_message), p_delay) e
    where e.arn is not null and e.error is null;
end $$;
