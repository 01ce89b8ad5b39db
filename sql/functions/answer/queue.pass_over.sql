-- queue.pass_over(arn, message, format, bytes): notes how many bytes a visible message takes in answers of this format:
-- receive_messages then leaves it to receives whose answers may be so long. It is not received by this: it stays visible,
-- and its receive count is as before. A message of the log moves to the slow path.
-- Parameters: the message as it was received, before that was undone. The locks of that receive are released meanwhile, and
--   another one may have received the message, or changed its visibility: it is passed over only in its state of before.
-- Returns false when it has another state, or another transaction has the message, its lease, group or shard; nothing was
--   noted then.
-- Locks: advisory, reader of the shard, then the lease's row; or the row of the group, or of the message in the slow path.
--   None is waited for.
create or replace function queue.pass_over(p_arn text, p_message queue.received_row, p_format text, p_bytes int)
returns boolean
language plpgsql as $$
declare
    v_bytes jsonb := jsonb_build_object(p_format, p_bytes);
    v_count int := p_message.receive_count - 1;
    v_pos bigint;
    v_moved boolean;
begin
    if p_message.shard = -2 then
        perform from queue.fifo_group g
        where g.group_key = (select m.group_key from queue.fifo_message m where m.id = p_message.id)
        for update skip locked;
        if found then
            update queue.fifo_message m set answer_bytes = coalesce(m.answer_bytes, '{}') || v_bytes
            where m.id = p_message.id and m.receive_count = v_count and m.visible_at <= clock_timestamp();
        end if;
        return found;
    end if;
    if p_message.pos > 0 then       -- it was in the log
        if not pg_try_advisory_xact_lock(queue.lock_key(1, p_message.queue_id, p_message.shard)) then
            return false;
        end if;
        select x.pos into v_pos from queue.lease x      -- an ended one, or one that take_fair made for nobody (count 0)
        where x.queue_id = p_message.queue_id and x.shard = p_message.shard and x.pos >= p_message.id
            and p_message.id = any (x.ids) and x.receive_count = v_count
        order by x.pos limit 1 for update skip locked;
        v_moved := case when v_pos is not null
            then queue.unlease_messages(p_message.queue_id, p_message.shard, v_pos, v_count, array[p_message.id],
                clock_timestamp())
            else v_count = 0 and queue.take_unreceived(p_message.queue_id, p_message.shard, p_message.id,
                clock_timestamp(), false, false) end;
        if v_moved then
            perform queue.notify_watchers(p_message.queue_id, p_arn);
        end if;
    end if;
    update queue.side s set answer_bytes = coalesce(s.answer_bytes, '{}') || v_bytes
    where s.ctid = (
        select m.ctid from queue.side m
        where m.queue_id = p_message.queue_id and m.shard = p_message.shard and m.id = p_message.id
            and m.receive_count = v_count and m.visible_at <= clock_timestamp()
        for update skip locked);
    return found;
end $$;
