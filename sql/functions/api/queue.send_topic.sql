-- queue.send_topic: publishes an event as queue.publish_event does. Returns the number of queues that received the
-- event. SQL interface.
create or replace function queue.send_topic(
    routing_key text, message jsonb, headers jsonb default null, delay int default null) returns int
language sql volatile security definer set search_path = pg_catalog, queue, pg_temp as $$
select count(*)::int
from queue.publish_event(send_topic.routing_key, send_topic.message, send_topic.headers, send_topic.delay)
$$;
