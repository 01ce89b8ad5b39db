-- queue.dead_letter_side: moves messages of the slow path that were received too often to the dead-letter queue. It
-- looks at the first p_max + 100 visible messages, so that few such messages are left for a receive of p_max.
-- Locks: the messages' rows, skipped when locked. Called by: take_side.
drop function if exists queue.dead_letter_side(int, int, int, int, text);
create or replace function queue.dead_letter_side(
    p_queue_id int, p_max int, p_now timestamptz, p_max_receive_count int, p_target int, p_target_arn text)
returns void
language plpgsql as $$
declare
    v_rows int;
begin
    with moved as (
        delete from queue.side s
        where s.ctid = any (array(
            select due.ctid from (
                select r.ctid, r.receive_count from queue.side r
                where queue.time_key(r.queue_id, -1) = queue.time_key(p_queue_id, -1) and r.visible_at <= p_now
                order by r.visible_at, r.id limit p_max + 100 for update skip locked) due
            where due.receive_count >= p_max_receive_count))
        returning s.*),
    recorded as (
        insert into queue.history (queue_id, outcome, receive_count, first_received_at, group_id, sent_at, finished_at)
        select p_queue_id, 'dead_lettered', m.receive_count, m.first_received_at, m.system ->> 'MessageGroupId',
            array[m.sent_at], array[p_now]
        from moved m where (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id))
    insert into queue.side
    select r.* from moved m
    cross join lateral jsonb_populate_record(m::queue.side, jsonb_build_object(
        'id', nextval('queue.side_id'), 'visible_at', p_now, 'queue_id', p_target, 'shard', -1, 'receive_count', 0,
        'first_received_at', null,
        'system', queue.dead_letter_system(p_queue_id, m.system, m.receive_count, m.first_received_at))) r;
    get diagnostics v_rows = row_count;
    if v_rows > 0 then
        insert into queue.dead_letter_count (queue_id, messages) values (p_queue_id, v_rows);
        perform queue.notify_watchers(p_target, p_target_arn);
    end if;
end $$;
