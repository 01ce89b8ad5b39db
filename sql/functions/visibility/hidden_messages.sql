-- Single changes of visibility, and failures.

-- queue.hide_message: makes a message visible at p_visible_at. Returns false if the handle is no longer valid. A
-- message of the log leaves its lease and moves to the side table (queue.side) under the same handle. A lease's end
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

-- queue.unlease_messages: moves messages out of a lease to the side table (queue.side). `p_ids` must be in ascending
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
