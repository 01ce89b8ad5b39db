-- queue.send_topic(routing key, message, headers, delay): queue.publish_event, under the name that its queues' part had.
-- Returns to how many queues the event went. SQL interface.
create or replace function queue.send_topic(
    p_routing_key text, p_message jsonb, p_headers jsonb default null, p_delay int default null) returns int
language sql volatile as $$
select count(*)::int from queue.publish_event(p_routing_key, p_message, p_headers, p_delay)
$$;
