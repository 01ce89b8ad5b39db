-- queue.move_group_messages: moves messages of a FIFO group in their order to the same group of another queue. The
-- messages are new in the other queue, and have that queue's delay. The messages keep their deduplication ids, but the
-- function does not search for duplicates. The messages lose the attribute PenstockError. Returns false if another
-- transaction has locked the target's group or deleted the target. The caller has locked the group's row. Locks the
-- target's group row without waiting.
create or replace function queue.move_group_messages(
    p_queue_id int, p_group_key bigint, p_group_id text, p_ids bigint[], p_target_arn text)
returns boolean
language plpgsql as $$
declare
    v_target record;
    v_key bigint;
    v_now timestamptz;
    v_moved record;
    v_arn text := (select q.arn from queue.queues q where q.queue_id = p_queue_id);
begin
    select q.queue_id, q.delay_seconds into v_target from queue.queues q where q.arn = p_target_arn;
    v_key := case when v_target.queue_id is not null then queue.try_lock_group(v_target.queue_id, p_group_id) end;
    if v_key is null then
        return false;
    end if;
    v_now := clock_timestamp();
    with arrived as (
        insert into queue.fifo_message
        select r.* from queue.remove_group_messages(p_queue_id, p_group_key, p_ids, 'moved', v_now) m
        cross join lateral jsonb_populate_record(m::queue.fifo_message, jsonb_build_object(
            'id', nextval('queue.fifo_id'), 'group_key', v_key, 'queue_id', v_target.queue_id,
            'visible_at', v_now + v_target.delay_seconds * interval '1 second', 'sent_at', v_now,
            'message_id', gen_random_uuid(), 'receive_count', 0, 'first_received_at', null, 'redelivered_at', null,
            'attributes', queue.without_error(m.attributes), 'response_bytes', null,
            'system', queue.move_system(v_arn, queue.public_id(queue.fifo_shard(), m.id), m.message_id::text,
                m.sent_at, m.receive_count, m.first_received_at, m.system))) r
        returning id, message_id)
    select array_agg(queue.public_id(queue.fifo_shard(), a.id) order by a.id) as numbers,
        array_agg(a.message_id order by a.id) as ids
    into v_moved from arrived a;
    perform queue.note_canary(p_queue_id, array_fill(p_target_arn, array[coalesce(cardinality(v_moved.ids), 0)]),
        v_moved.numbers, v_moved.ids);
    perform queue.update_groups(array[v_key]);
    perform queue.update_groups(array[p_group_key]);
    perform queue.notify_watchers(v_target.queue_id, p_target_arn);
    return true;
end $$;
