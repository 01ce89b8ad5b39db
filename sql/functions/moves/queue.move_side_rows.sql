-- queue.move_side_rows: moves messages from the slow path (queue.side). Returns the number of moved messages. If
-- p_destination is null, each message moves to the queue that it came from. The messages arrive in the order in which
-- they became visible. The caller has locked the messages.
create or replace function queue.move_side_rows(p_queue_id int, p_places tid[], p_destination text) returns int
language plpgsql as $$
declare
    v_taken record;
    v_now timestamptz := clock_timestamp();
begin
    with gone as (
        delete from queue.side s where s.ctid = any (p_places) returning s.*),
    recorded as (
        insert into queue.history
        select h.* from gone g
        cross join lateral queue.history_row(
            p_queue_id => p_queue_id, p_outcome => 'moved', p_system => g.system, p_receive_count => g.receive_count,
            p_first_received_at => g.first_received_at, p_redelivered_at => g.redelivered_at, p_sent_at => g.sent_at,
            p_entered_at => g.entered_at, p_finished_at => v_now) h
        where (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id))
    select count(*)::int as moved, array_agg(
            coalesce(p_destination, g.system ->> 'DeadLetterQueueSourceArn') order by g.visible_at, g.id) as targets,
        array_agg(d order by g.visible_at, g.id) as messages
    into v_taken from gone g cross join lateral queue.build_received_row(p_side => g::queue.side) d;
    if v_taken.moved > 0 then
        perform queue.send_moved(v_taken.targets, v_taken.messages);
    end if;
    return v_taken.moved;
end $$;
