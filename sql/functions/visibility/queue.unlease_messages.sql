-- queue.unlease_messages: moves messages out of a lease to the slow path (queue.side). `p_ids` must be in ascending
-- order. Returns false if the messages are not in the lease. Locks the lease's row.
create or replace function queue.unlease_messages(
    p_queue_id int, p_shard int, p_pos bigint, p_receive_count int, p_ids bigint[], p_visible_at timestamptz)
returns boolean
language plpgsql as $$
declare
    v_first_received_at timestamptz;
    v_redelivered_at timestamptz[];
begin
    update queue.lease x
    set ids = array(select i from unnest(x.ids) i where i <> all (p_ids)), gone = x.gone || p_ids,
        gone_at = x.gone_at || array_fill(null::timestamptz, array[cardinality(p_ids)])
    where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = p_pos and x.receive_count = p_receive_count
        and x.ids @> p_ids
    returning x.first_received_at, x.redelivered_at into v_first_received_at, v_redelivered_at;
    if not found then
        return false;
    end if;
    insert into queue.side (id, visible_at, sent_at, first_received_at, message_id, queue_id, receive_count, shard,
        body, attributes, system, redelivered_at)
    select l.id, p_visible_at, l.sent_at, v_first_received_at, l.message_id, p_queue_id, p_receive_count, p_shard,
        l.body, l.attributes, l.system, v_redelivered_at
    from queue.log l
    where l.queue_id = p_queue_id and l.shard = p_shard and l.id = any (p_ids)
        and l.id between p_ids[1] and p_ids[cardinality(p_ids)];      -- This condition limits the index scan.
    return true;
end $$;
