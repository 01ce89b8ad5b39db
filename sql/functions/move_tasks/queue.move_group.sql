-- queue.move_group: moves the first visible messages of a FIFO group that go to the queue p_target_arn, at most
-- p_limit, into its group of the same name, in their order, as new messages after the queue's delay. They keep their
-- deduplication ids, but are not deduplicated. Returns messages: 0 when another transaction has locked the target's
-- group, or when the target was deleted a moment ago.
-- The caller holds the group's row. Locks: the target's group row, without waiting. Called by: move_groups.
create or replace function queue.move_group(
    p_queue_id int, p_group_key bigint, p_group_id text, p_limit int, p_destination text, p_target_arn text)
returns int
language plpgsql as $$
declare
    v_target record;
    v_key bigint;
    v_now timestamptz;
    v_ids bigint[];
begin
    select q.queue_id, q.delay_seconds into v_target from queue.queues q where q.arn = p_target_arn;
    v_key := case when v_target.queue_id is not null then queue.try_lock_group(v_target.queue_id, p_group_id) end;
    if v_key is null then
        return 0;
    end if;
    v_now := clock_timestamp();
    v_ids := array(
        select head.id from (
            select m.id, bool_and(m.visible_at <= v_now and coalesce(p_destination,
                m.system ->> 'DeadLetterQueueSourceArn', '') = p_target_arn) over (order by m.id) as due
            from (select f.id, f.visible_at, f.system from queue.fifo_message f
                  where f.group_key = p_group_key and f.group_key > 0
                    and f.id >= (select h.first_id from queue.first_group_message(p_group_key) h)
                  order by f.id limit p_limit) m) head
        where head.due);
    with gone as (
        delete from queue.fifo_message m where m.id = any (v_ids) returning m.*),
    recorded as (
        insert into queue.history (queue_id, outcome, receive_count, first_received_at, redelivered_at, group_id, sent_at,
            entered_by, finished_at)
        select p_queue_id, 'moved', g.receive_count, g.first_received_at, g.redelivered_at, p_group_id, array[g.sent_at],
            queue.entered_by(g.system), array[v_now]
        from gone g where (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id))
    insert into queue.fifo_message
    select r.* from (select * from gone order by id) m
    cross join lateral jsonb_populate_record(m::queue.fifo_message, jsonb_build_object(
        'id', nextval('queue.fifo_id'), 'group_key', v_key, 'queue_id', v_target.queue_id,
        'visible_at', v_now + v_target.delay_seconds * interval '1 second', 'sent_at', v_now,
        'message_id', gen_random_uuid(), 'receive_count', 0, 'first_received_at', null, 'redelivered_at', null,
        'system', queue.move_system(m.system))) r;
    perform queue.update_groups(array[v_key]);
    perform queue.update_groups(array[p_group_key]);
    perform queue.notify_watchers(v_target.queue_id, p_target_arn);
    return cardinality(v_ids);
end $$;
