-- queue.message_exists(queue, public id): whether a message is still there: waiting, delayed or in flight.
-- Index: log_pkey, lease_pkey, side_pkey, fifo_message_pkey.
create or replace function queue.message_exists(p_queue_id int, p_public_id bigint) returns boolean
language plpgsql stable as $$
declare
    v_shard int := (p_public_id & 255)::int - 2;
    v_id bigint := p_public_id >> 8;
begin
    if v_shard = -2 then
        return exists (select from queue.fifo_message m where m.id = v_id and m.queue_id = p_queue_id);
    end if;
    return exists (
            select from queue.side s where s.queue_id = p_queue_id and s.shard = v_shard and s.id = v_id)
        or exists (
            select from queue.log l
            where l.queue_id = p_queue_id and l.shard = v_shard and l.id = v_id and l.id > (
                select max(x.pos) from queue.lease x where x.queue_id = p_queue_id and x.shard = v_shard))
        or exists (
            select from queue.lease x
            where x.queue_id = p_queue_id and x.shard = v_shard and x.pos >= v_id and v_id = any (x.ids));
end $$;
