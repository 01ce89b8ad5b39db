-- Counts of messages in flight.

-- queue.count_in_flight: returns the number of messages in flight. Also counts expired messages
-- (docs/reference/compatibility.md). A lease does not contain send times, and reading the send times would take as long
-- as a receive. Reads only invisible rows, and at most ten messages of a FIFO group, the maximum of a ReceiveMessage.
-- Uses the indexes lease_visible_at, side_visible_at, fifo_ready_visible_at and fifo_message_of_group.
create or replace function queue.count_in_flight(p_queue_id int, p_fifo boolean, p_shards int) returns bigint
language plpgsql stable as $$
declare
    v_now timestamptz := clock_timestamp();
begin
    if p_fifo then
        return (
            select count(*) from queue.fifo_ready g
            cross join lateral (
                select m.visible_at, m.receive_count from queue.fifo_message m
                where m.group_key = g.group_key and m.group_key > 0 and m.id >= g.first_id order by m.id limit 10) m
            where queue.fifo_key(g.queue_id) = queue.fifo_key(p_queue_id)
                and g.visible_at > v_now and g.visible_at < 'infinity'
                and m.visible_at > v_now and m.receive_count > 0);
    end if;
    return (
        select coalesce(sum(cardinality(x.ids)), 0)
        from generate_series(0, p_shards - 1) s(shard)
        join queue.lease x on queue.time_key(x.queue_id, x.shard) = queue.time_key(p_queue_id, s.shard)
            and x.visible_at > v_now and x.visible_at < 'infinity')
        + (select count(*) from queue.side m
           where queue.side_key(m.queue_id) = queue.side_key(p_queue_id) and m.visible_at > v_now
               and m.receive_count > 0);
end $$;

-- queue.update_in_flight_counting: decides whether receives count the queue's messages in flight from now on. Receives
-- count if more than 20,000 messages are in flight, long before the limit. The function itself counts the messages if
-- receives already do so, if p_suspected is true, or if the table is large enough. FIFO queues and the side table
-- (queue.side) cannot have 20,000 messages in a small table, because a row has at least 100 bytes. Locks the queue's
-- row until the end of the transaction, unless another transaction has locked the row. The caller must not wait for
-- another lock after this call, because two callers could deadlock.
create or replace function queue.update_in_flight_counting(p_queue_id int, p_suspected boolean default false)
returns void
language plpgsql as $$
declare
    v_queue record;
    v_many boolean;
begin
    select q.fifo, q.shards, q.counts_in_flight into v_queue from queue.queues q where q.queue_id = p_queue_id;
    -- A table of 2,000,000 bytes has room for 20,000 rows of 100 bytes.
    if p_suspected or v_queue.counts_in_flight or 2000000 < pg_relation_size(
        case when v_queue.fifo then 'queue.fifo_message'::regclass else 'queue.side'::regclass end)
    then
        v_many := queue.count_in_flight(p_queue_id, v_queue.fifo, v_queue.shards) > 20000;
    end if;
    if v_many <> v_queue.counts_in_flight then
        perform from queue.queues q where q.queue_id = p_queue_id for no key update skip locked;
        if found then
            update queue.queues q set counts_in_flight = v_many where q.queue_id = p_queue_id;
        end if;
    end if;
end $$;
