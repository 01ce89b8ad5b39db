-- queue.find_received: where the message of a receipt handle is, by the parameters of one handle (delete_messages): its
-- lease (0: none), how often and when it was first received. No row: the handle is not valid. That of a standard queue
-- is also valid after a newer receive, while the message is the same one; that of a FIFO queue only for the newest.
-- Index: lease_pkey, side_pkey, log_pkey, fifo_message_pkey.
create or replace function queue.find_received(
    p_queue_id int, p_shard int, p_pos bigint, p_id bigint, p_receive_count int, p_nonce int, p_message_id uuid,
    out pos bigint, out receive_count int, out first_received_at timestamptz)
returns setof record
language plpgsql stable as $$
#variable_conflict use_column
begin
    if p_shard = -2 then
        return query select 0::bigint, m.receive_count, m.first_received_at from queue.fifo_message m
        where m.id = p_id and m.queue_id = p_queue_id and m.receive_count = p_receive_count
            and m.message_id = p_message_id;
        return;
    end if;
    return query select x.pos, x.receive_count, x.first_received_at from queue.lease x
    where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = p_pos and p_id = any (x.ids)
        and x.nonce = p_nonce;
    if found then
        return;
    end if;
    return query select 0::bigint, s.receive_count, s.first_received_at from queue.side s
    where s.queue_id = p_queue_id and s.shard = p_shard and s.id = p_id
        and s.message_id = p_message_id;
    if found then
        return;
    end if;
    return query select n.pos, n.receive_count, n.first_received_at from (     -- leases may overlap (take_fair)
        select x.pos, x.receive_count, x.first_received_at, x.ids from queue.lease x
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos >= p_id order by x.pos limit 200) n
    where p_id = any (n.ids) and exists (
        select from queue.log l
        where l.queue_id = p_queue_id and l.shard = p_shard and l.id = p_id and l.message_id = p_message_id);
end $$;
