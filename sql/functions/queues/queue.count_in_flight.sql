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
