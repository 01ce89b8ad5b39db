-- queue.move_selected(task, limit): one step of a task with ids or a filter: moves up to p_limit of its messages, each to the
-- task's destination or to the queue that it came from. Messages in flight or delayed, and those without a queue to move
-- to, stay: skipped. When another transaction has locked some of them, the next step begins at the same place: those that
-- have moved are gone.
-- Returns one row: messages moved and skipped, at how many it looked, the place after which the next step goes on, whether
-- there is none, and why a message had no queue to move to.
-- Locks: as move_selected_side and move_selected_group: it waits for none.
create or replace function queue.move_selected(
    p_task queue.move_task, p_limit int, out moved int, out skipped int, out looked_at int, out place text,
    out done boolean, out failure text)
language plpgsql as $$
declare
    v_all record;
    v_group record;
    v_step record;
    v_busy boolean := false;
begin
    moved := 0;
    skipped := 0;
    looked_at := 0;
    place := p_task.place;
    done := false;
    if p_limit = 0 then
        return;
    end if;
    with selected as materialized (
        select * from queue.selected_messages(p_task, p_limit) with ordinality s(
            shard, id, group_id, can_move, target_arn, failure, looked_at, next, n))
    select max(s.looked_at) as looked_at, max(s.next) as next, count(s.id)::int as messages,
        array_agg(s.shard order by s.n) filter (where s.can_move and s.failure is null) as shards,
        array_agg(s.id order by s.n) filter (where s.can_move and s.failure is null) as ids,
        array_agg(s.group_id order by s.n) filter (where s.id is not null) as groups,
        array_agg(s.id order by s.n) filter (where s.id is not null) as all_ids,
        max(s.failure) as failure
    into v_all from selected s;
    failure := v_all.failure;
    if not (select q.fifo from queue.queues q where q.queue_id = p_task.queue_id) then
        select * into v_step
        from queue.move_selected_side(p_task.queue_id, v_all.shards, v_all.ids, p_task.destination_arn);
        moved := v_step.moved;
        v_busy := v_step.busy;
    else
        failure := null;
        for v_group in
            select u.group_id, array_agg(u.id order by u.id) as ids
            from unnest(v_all.groups, v_all.all_ids) with ordinality u(group_id, id, n) group by u.group_id order by min(u.n)
        loop
            select * into v_step from queue.move_selected_group(p_task, v_group.group_id, v_group.ids);
            moved := moved + v_step.moved;
            failure := coalesce(v_step.failure, failure);
            v_busy := v_busy or v_step.busy;
            if v_step.stuck and v_all.next = '-2:' || split_part(v_all.next, ':', 2) || ':' || v_group.group_id then
                v_all.next := '-2:9223372036854775807:' || v_group.group_id;     -- to the end of the group
            end if;
        end loop;
    end if;
    if not v_busy then
        looked_at := v_all.looked_at;
        skipped := v_all.messages - moved;
        place := v_all.next;
        done := v_all.next is null;
    end if;
end $$;
