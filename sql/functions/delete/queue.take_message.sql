-- queue.take_message: removes a message from a queue and returns its row as JSON. `p_in_flight` is true if the function
-- also removes a message in flight.
--   `message` is the row of queue.side or queue.fifo_message, or null if the function removed nothing.
--   `is_in_flight` is true if the function kept a message because it is in flight.
-- Records no outcome: the caller stores the row, or calls record_deletion. The caller has locked the reader of the
-- message's shard if the message was never received, or the message's group (delete_with_undo). Locks the message's
-- lease and row. Raises QU004 (not under READ COMMITTED).
create or replace function queue.take_message(
    p_queue_id int, p_public_id bigint, p_in_flight boolean, out message jsonb, out is_in_flight boolean)
language plpgsql as $$
declare
    v_shard int := (p_public_id & 255)::int - 2;
    v_id bigint := p_public_id >> 8;
    v_found record;
    v_lease record;
begin
    is_in_flight := false;
    if v_shard = queue.fifo_shard() then
        select m.ctid as place, m.group_key, m.visible_at, m.receive_count into v_found
        from queue.fifo_message m where m.id = v_id and m.queue_id = p_queue_id for update;
        is_in_flight := not p_in_flight
            and queue.message_state(v_found.visible_at, v_found.receive_count) = 'in_flight';
        if v_found.place is null or is_in_flight then
            is_in_flight := coalesce(is_in_flight, false);
            return;
        end if;
        delete from queue.fifo_message m where m.ctid = v_found.place returning to_jsonb(m) into message;
        perform queue.update_groups(array[v_found.group_key]);
        return;
    end if;
    -- A message of the log moves to the side table (queue.side) first. A receive can change the message's place before
    -- this function locks the message.
    for v_attempt in 1 .. 4 loop
        select s.ctid as place, s.visible_at, s.receive_count into v_found
        from queue.side s where s.queue_id = p_queue_id and s.shard = v_shard and s.id = v_id for update;
        if v_found.place is not null then
            is_in_flight := not p_in_flight
                and queue.message_state(v_found.visible_at, v_found.receive_count) = 'in_flight';
            if not is_in_flight then
                delete from queue.side s where s.ctid = v_found.place returning to_jsonb(s) into message;
            end if;
            return;
        end if;
        exit when v_shard < 0;
        select n.pos, n.receive_count, n.visible_at into v_lease from (
            select x.pos, x.receive_count, x.visible_at, x.ids from queue.lease x
            where x.queue_id = p_queue_id and x.shard = v_shard and x.pos >= v_id order by x.pos limit 200) n
        where v_id = any (n.ids) order by n.pos limit 1;        -- Leases can overlap (take_fair).
        if v_lease.pos is null then
            perform queue.take_unreceived(p_queue_id, v_shard, v_id, clock_timestamp(), false, false);
        elsif not p_in_flight and queue.message_state(v_lease.visible_at, v_lease.receive_count) = 'in_flight' then
            is_in_flight := true;
            return;
        else
            perform queue.unlease_messages(
                p_queue_id, v_shard, v_lease.pos, v_lease.receive_count, array[v_id],
                case when v_lease.visible_at = 'infinity' then clock_timestamp() else v_lease.visible_at end);
        end if;
    end loop;
end $$;
