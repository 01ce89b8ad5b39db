-- queue.dead_letter_group: moves the first messages of a group that were received p_max_receive_count times, and are
-- visible again, to the FIFO dead-letter queue: into the group of the same name, in their order, with their message id
-- as deduplication id. Retention starts anew there. Both as on AWS (Developer Guide, "dead-letter queue redrive" and
-- "Using dead-letter queues"). At most 100 a call.
-- Returns false when messages of the group still have to move: there were 100 or more, or another transaction has
-- locked the target's group. Then no message of the group may be handed out now. The caller holds the group's row.
-- Locks: the target's group row, without waiting, since two queues may share a dead-letter queue.
create or replace function queue.dead_letter_group(
    p_queue_id int, p_group_key bigint, p_now timestamptz, p_max_receive_count int, p_dead_letter_arn text)
returns boolean
language plpgsql as $$
declare
    v_target int;
    v_group_id text;
    v_target_key bigint;
    v_ids bigint[];
begin
    v_ids := array(
        select head.id from (
            select m.id,
                bool_and(m.visible_at <= p_now and m.receive_count >= p_max_receive_count) over (order by m.id) as due
            from (select f.id, f.visible_at, f.receive_count from queue.fifo_message f
                  where f.group_key = p_group_key and f.group_key > 0
                    and f.id >= (select h.first_id from queue.first_group_message(p_group_key) h)
                  order by f.id limit 100) m) head
        where head.due);
    select q.queue_id into v_target from queue.queues q where q.arn = p_dead_letter_arn and q.fifo;
    if v_ids = '{}' or v_target is null then
        return true;
    end if;
    select g.group_id into v_group_id from queue.fifo_group g where g.group_key = p_group_key;
    v_target_key := queue.try_lock_group(v_target, v_group_id);
    if v_target_key is null then
        return false;
    end if;
    with moved as (
        delete from queue.fifo_message m where m.id = any (v_ids) returning m.*),
    recorded as (
        insert into queue.history (queue_id, outcome, receive_count, first_received_at, redelivered_at, group_id, sent_at,
            entered_by, finished_at)
        select p_queue_id, 'dead_lettered', m.receive_count, m.first_received_at, m.redelivered_at, v_group_id,
            array[m.sent_at], queue.entered_by(m.system), array[p_now]
        from moved m where (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id))
    insert into queue.fifo_message
    select r.* from (select * from moved order by id) m
    cross join lateral jsonb_populate_record(m::queue.fifo_message, jsonb_build_object(
        'id', nextval('queue.fifo_id'), 'group_key', v_target_key, 'visible_at', p_now, 'sent_at', p_now,
        'queue_id', v_target, 'deduplication_id', m.message_id, 'receive_count', 0, 'first_received_at', null,
        'redelivered_at', null,
        'system', queue.dead_letter_system(p_queue_id, m.system, m.receive_count, null))) r;
    insert into queue.dead_letter_count (queue_id, messages) values (p_queue_id, cardinality(v_ids));
    insert into queue.activity (queue_id, sent, dead_lettered)
    values (p_queue_id, 0, cardinality(v_ids)), (v_target, cardinality(v_ids), 0);
    perform queue.update_groups(array[v_target_key]);
    perform queue.notify_watchers(v_target, p_dead_letter_arn);
    return cardinality(v_ids) < 100;
end $$;
