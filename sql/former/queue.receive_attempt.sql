-- queue.receive_attempt: as the previous release calls it: without nonces.
-- Called by: ReceiveMessage of the previous release.
drop function if exists queue.receive_attempt(text, text, int, int, int);
create function queue.receive_attempt(
    p_queue text, p_attempt_id text, p_max int, p_visibility_seconds int, p_in_flight_limit int)
returns table (
    error text, wait_seconds int, queue_id int, shard smallint, pos bigint, id bigint, receive_count int, message_id text,
    sent_at_ms bigint, first_received_at_ms bigint, body text, attributes text, system text, public_id bigint,
    visible_at_ms bigint)
language sql as $$
select d.error, d.wait_seconds, d.queue_id, d.shard, d.pos, d.id, d.receive_count, d.message_id, d.sent_at_ms,
    d.first_received_at_ms, d.body, d.attributes, d.system, d.public_id, d.visible_at_ms
from queue.receive_attempt(p_queue, p_max, p_visibility_seconds, p_in_flight_limit, p_attempt_id) d
$$;
