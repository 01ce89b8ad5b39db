-- queue.move_side(queue, limit, destination): moves messages of the slow path (queue.side), the longest visible first;
-- messages that came from other queues are on the slow path. Returns one row: messages moved, and why others could not
-- move (move_target). Locks: the messages' rows, skipped when locked. Index: side_visible_at. Called by: run_move_task.
create or replace function queue.move_side(
    p_queue_id int, p_limit int, p_destination text, out moved int, out failure text)
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_due record;
    v_taken record;
begin
    with due as materialized (
        select r.ctid as place, r.system from queue.side r
        where queue.time_key(r.queue_id, -1) = queue.time_key(p_queue_id, -1) and r.visible_at <= v_now
        order by r.visible_at, r.id limit p_limit for update skip locked)
    select array_agg(d.place) filter (where t.failure is null) as places, max(t.failure) as failure into v_due
    from due d cross join lateral queue.move_target(p_queue_id, p_destination, d.system) t;
    failure := v_due.failure;
    with gone as (
        delete from queue.side s where s.ctid = any (v_due.places) returning s.*),
    recorded as (
        insert into queue.history (queue_id, outcome, receive_count, first_received_at, redelivered_at, group_id, sent_at,
            entered_at, entered_by, finished_at)
        select p_queue_id, 'moved', g.receive_count, g.first_received_at, g.redelivered_at, g.system ->> 'MessageGroupId',
            array[g.sent_at], case when g.entered_at is not null then array[g.entered_at] end,
            queue.entered_by(g.system), array[v_now]
        from gone g where (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id))
    select count(*)::int as moved, array_agg(
            coalesce(p_destination, g.system ->> 'DeadLetterQueueSourceArn') order by g.visible_at, g.id) as targets,
        array_agg(d order by g.visible_at, g.id) as messages
    into v_taken from gone g cross join lateral queue.delivery_row(p_side => g::queue.side) d;
    moved := v_taken.moved;
    if moved > 0 then
        perform queue.send_moved(v_taken.targets, v_taken.messages);
    end if;
end $$;
