-- Single changes of visibility, and failures.

-- queue.hide_message: makes a message visible at p_visible_at. Returns false if the handle is no longer valid. A
-- message of the log leaves its lease and moves to the slow path (queue.side) under the same handle. A lease's end
-- never moves to an earlier time, because a receiver's watermark can already be at a later time. Locks the lease's,
-- message's or group's row.
create or replace function queue.hide_message(
    p_queue_id int, p_shard int, p_pos bigint, p_id bigint, p_receive_count int, p_visible_at timestamptz)
returns boolean
language plpgsql as $$
declare
    v_group bigint;
begin
    if p_shard = queue.fifo_shard() then
        select g.group_key into v_group from queue.fifo_group g
        where g.group_key = (
            select m.group_key from queue.fifo_message m where m.id = p_id and m.queue_id = p_queue_id)
        for update;
        update queue.fifo_message m set visible_at = p_visible_at
        where m.id = p_id and m.queue_id = p_queue_id and m.receive_count = p_receive_count;
        if not found then
            return false;
        end if;
        perform queue.update_groups(array[v_group]);
        return true;
    end if;
    if queue.unlease_messages(p_queue_id, p_shard, p_pos, p_receive_count, array[p_id], p_visible_at) then
        return true;
    end if;
    update queue.side s set visible_at = p_visible_at
    where s.queue_id = p_queue_id and s.shard = p_shard and s.id = p_id and s.receive_count = p_receive_count;
    return found;
end $$;

-- queue.record_failure: stores why a receive of a message failed. Another failure of the same receive replaces the
-- error. Cuts and cleans the error (clean_error). Ignores a null or empty error. Locks the failure's row.
create or replace function queue.record_failure(p_queue_id int, p_message_id uuid, p_receive_count int, p_error text)
returns void
language sql as $$
insert into queue.failure as f (queue_id, message_id, receive_count, error)
select p_queue_id, p_message_id, p_receive_count, queue.clean_error(p_error) where p_error <> ''
on conflict (queue_id, message_id, receive_count)
do update set failed_at = clock_timestamp(), error = excluded.error
$$;
