-- queue.move_side(queue, limit, destination): moves messages of the slow path (queue.side), the longest visible first;
-- messages that came from other queues are on the slow path. Returns one row: messages moved, and why others could not
-- move (move_target). Locks: the messages' rows, skipped when locked. Index: side_visible_at.
create or replace function queue.move_side(
    p_queue_id int, p_limit int, p_destination text, out moved int, out failure text)
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_due record;
begin
    with due as materialized (
        select r.ctid as place, r.system from queue.side r
        where queue.time_key(r.queue_id, -1) = queue.time_key(p_queue_id, -1) and r.visible_at <= v_now
        order by r.visible_at, r.id limit p_limit for update skip locked)
    select array_agg(d.place) filter (where t.failure is null) as places, max(t.failure) as failure into v_due
    from due d cross join lateral queue.move_target(p_queue_id, p_destination, d.system) t;
    failure := v_due.failure;
    moved := queue.move_side_rows(p_queue_id, v_due.places, p_destination);
end $$;
