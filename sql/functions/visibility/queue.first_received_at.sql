-- queue.first_received_at: when the message under this handle was first received; null when the handle is not valid.
-- Called by: change_visibilities.
create or replace function queue.first_received_at(
    p_queue_id int, p_shard int, p_pos bigint, p_id bigint, p_receive_count int) returns timestamptz
language plpgsql as $$
declare
    v_at timestamptz;
begin
    if p_shard = -2 then
        select m.first_received_at into v_at from queue.fifo_message m
        where m.id = p_id and m.queue_id = p_queue_id and m.receive_count = p_receive_count;
        return v_at;
    end if;
    select x.first_received_at into v_at from queue.lease x
    where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = p_pos and x.receive_count = p_receive_count
        and p_id = any (x.ids);
    if found then
        return v_at;
    end if;
    select s.first_received_at into v_at from queue.side s
    where s.queue_id = p_queue_id and s.shard = p_shard and s.id = p_id and s.receive_count = p_receive_count;
    return v_at;
end $$;
