-- queue.move_selected_group(task, group, ids): moves messages of a FIFO group that a task has selected, in their order, up to
-- the first one that cannot be received now: none that was selected overtakes another.
-- Returns moved; failure: why some had no queue to move to (move_target); busy: another transaction has locked a group, try
-- again; stuck: a message in flight is in the way of those behind it.
-- Locks: the group's row and that of the target's group, without waiting.
create or replace function queue.move_selected_group(
    p_task queue.move_task, p_group_id text, p_ids bigint[], out moved int, out failure text, out busy boolean,
    out stuck boolean)
language plpgsql as $$
declare
    v_key bigint;
    v_free bigint[];
    v_target record;
begin
    moved := 0;
    busy := false;
    stuck := false;
    select g.group_key into v_key from queue.fifo_group g
    where g.queue_id = p_task.queue_id and g.group_id = p_group_id for update skip locked;
    if v_key is null then
        busy := exists (
            select from queue.fifo_group g where g.queue_id = p_task.queue_id and g.group_id = p_group_id);
        return;
    end if;
    v_free := array(
        select h.id from (
            select f.id, bool_and(f.visible_at <= clock_timestamp()) over (order by f.id) as due
            from queue.fifo_message f where f.group_key = v_key and f.id = any (p_ids)) h
        where h.due and not exists (        -- of a list of ids, those of steps before are gone unless they could not move
            select from queue.fifo_message e
            where e.group_key = v_key and e.group_key > 0 and e.id < p_ids[1]
                and queue.public_id(-2, e.id) = any (p_task.ids)));
    stuck := exists (
        select from queue.fifo_message f where f.group_key = v_key and f.id = any (p_ids) and f.id <> all (v_free));
    for v_target in
        select t.target_arn, max(t.failure) as failure, array_agg(f.id order by f.id) as ids
        from queue.fifo_message f
        cross join lateral queue.move_target(p_task.queue_id, p_task.destination_arn, f.system) t
        where f.group_key = v_key and f.id = any (v_free)
        group by t.target_arn
    loop
        if v_target.failure is not null then
            failure := v_target.failure;
        elsif queue.move_group_messages(p_task.queue_id, v_key, p_group_id, v_target.ids, v_target.target_arn) then
            moved := moved + cardinality(v_target.ids);
        else
            busy := true;
        end if;
    end loop;
end $$;
