-- queue.change_visibility_by_id: makes a message in any state visible after p_seconds. Returns no row if the message
-- does not exist or its retention is over. Takes the locks of delete_by_id.
create or replace function queue.change_visibility_by_id(p_arn text, p_public_id bigint, p_seconds int)
returns table (visible_at_ms bigint)
language plpgsql as $$
declare
    v_queue queue.queues;
    v_shard int := (p_public_id & 255)::int - 2;
    v_id bigint := p_public_id >> 8;
    v_visible_at timestamptz := clock_timestamp() + p_seconds * interval '1 second';
    v_pos bigint;
    v_count int;
begin
    select * into v_queue from queue.queues q where q.arn = p_arn;
    perform queue.lock_readers_of_messages(v_queue.queue_id, array[p_public_id]);
    if not exists (select from queue.pick_messages(v_queue.queue_id, array[p_public_id])) then
        return;
    end if;
    -- A receive can change the message's place before this function locks the message.
    for v_attempt in 1 .. 3 loop
        select x.pos, x.receive_count into v_pos, v_count from queue.lease x
        where v_shard >= 0 and x.queue_id = v_queue.queue_id and x.shard = v_shard and x.pos >= v_id
            and v_id = any (x.ids)
        order by x.pos limit 1;
        if v_pos is null then
            v_count := coalesce(
                (select m.receive_count from queue.fifo_message m
                 where v_shard = queue.fifo_shard() and m.id = v_id and m.queue_id = v_queue.queue_id),
                (select s.receive_count from queue.side s
                 where s.queue_id = v_queue.queue_id and s.shard = v_shard and s.id = v_id));
        end if;
        if queue.hide_message(v_queue.queue_id, v_shard, coalesce(v_pos, 0), v_id, v_count, v_visible_at)
            or (v_shard >= 0 and queue.take_unreceived(v_queue.queue_id, v_shard, v_id, v_visible_at, false, false))
        then
            if p_seconds = 0 then
                perform queue.notify_watchers(v_queue.queue_id, p_arn);
            end if;
            return query select queue.epoch_ms(v_visible_at);
            return;
        end if;
    end loop;
end $$;
