-- queue.move_groups(queue, limit, destination): moves messages of a FIFO queue, group after group, the longest ready
-- first: of each group the first messages, as far as they are visible and go to the same queue, into the group of the
-- same name there. Stops at a message that cannot move, so that no message of its group overtakes it.
-- Returns one row: messages moved, and why the next one could not move (move_target).
-- Locks: the groups' rows in both queues, skipped when locked. Index: fifo_ready_visible_at.
create or replace function queue.move_groups(
    p_queue_id int, p_limit int, p_destination text, out moved int, out failure text)
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_group record;
    v_target record;
    v_rows int;
begin
    moved := 0;
    if p_limit = 0 then
        return;
    end if;
    for v_group in
        select g.group_key, g.group_id from queue.fifo_ready r join queue.fifo_group g on g.group_key = r.group_key
        where queue.time_key(r.queue_id, -2) = queue.time_key(p_queue_id, -2) and r.visible_at <= v_now
        order by r.visible_at, r.group_key limit p_limit + 100 for update of g skip locked
    loop
        exit when moved >= p_limit;
        select t.target_arn, t.failure into v_target
        from (select m.system from queue.first_group_message(v_group.group_key) f
              join queue.fifo_message m on m.id = f.id) h
        cross join lateral queue.move_target(p_queue_id, p_destination, h.system) t;
        failure := v_target.failure;
        exit when failure is not null;
        v_rows := queue.move_group(p_queue_id, v_group.group_key, v_group.group_id, p_limit - moved, p_destination,
            v_target.target_arn);
        moved := moved + v_rows;
    end loop;
end $$;
