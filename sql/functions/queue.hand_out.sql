-- queue.hand_out(queue, shard, ids, now, visibility): hands out messages of the log (ids ascending) one by one: each
-- lives on in the slow lane, received once. The caller has taken them out of their lease. Index: log_pkey.
-- Called by: take_quiet, take_deferred.
create or replace function queue.hand_out(
    p_queue_id int, p_shard int, p_ids bigint[], p_now timestamptz, p_visibility interval)
returns setof queue.delivery
language sql volatile as $$
with stored as (
    insert into queue.side as s (id, visible_at, sent_at, first_received_at, message_id, queue_id, receive_count, shard,
        body, attributes, system)
    select l.id, p_now + p_visibility, l.sent_at, p_now, l.message_id, p_queue_id, 1, p_shard, l.body, l.attributes,
        l.system
    from queue.log l
    where l.queue_id = p_queue_id and l.shard = p_shard and l.id = any (p_ids)
        and l.id between p_ids[1] and p_ids[cardinality(p_ids)]        -- an array alone may be a filter
    order by l.id
    returning s.*)
select null::text, null::int, p_queue_id, p_shard::smallint, 0::bigint, s.id, 1, s.message_id::text,
    queue.epoch_ms(s.sent_at), queue.epoch_ms(p_now), s.body, s.attributes::text, s.system::text,
    queue.public_id(p_shard, s.id), queue.epoch_ms(s.visible_at)
from stored s
$$;
