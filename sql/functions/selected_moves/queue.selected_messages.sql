-- queue.selected_messages(task, limit): the next messages that a task with ids or a filter has selected, at most p_limit: of
-- those that were in the queue when it was started. can_move: it can be received now. target_arn, failure: as move_target.
-- A last row without an id says at how many messages it looked, and the place after which the task goes on, null at the end.
create or replace function queue.selected_messages(p_task queue.move_task, p_limit int)
returns table (shard int, id bigint, group_id text, can_move boolean, target_arn text, failure text, looked_at int,
    next text)
language plpgsql stable as $$
#variable_conflict use_column
declare
    v_ids bigint[];
begin
    if p_task.ids is null then
        return query
        select f.shard, f.id, f.group_id, f.state = 'visible', t.target_arn, t.failure, f.looked_at, f.next
        from queue.find_messages(p_task.queue_id, p_task.filter, p_task.started_at, p_task.place, p_limit, 2000) f
        left join lateral queue.move_target(p_task.queue_id, p_task.destination_arn, f.system) t on f.id is not null;
        return;
    end if;
    v_ids := array(
        select i from unnest(p_task.ids) i
        where i > coalesce(p_task.place::bigint, -1) order by i limit p_limit);
    return query
    select m.shard, m.id, m.group_id, queue.message_state(m.visible_at, m.receive_count) = 'visible', t.target_arn,
        t.failure, null::int, null::text
    from queue.pick_messages(p_task.queue_id, v_ids) m
    cross join lateral queue.move_target(p_task.queue_id, p_task.destination_arn, m.system) t
    where m.entered_at <= p_task.started_at
    order by queue.public_id(m.shard, m.id);
    return query
    select null::int, null::bigint, null::text, null::boolean, null::text, null::text, cardinality(v_ids),
        case when v_ids[cardinality(v_ids)] < (select max(i) from unnest(p_task.ids) i)
            then v_ids[cardinality(v_ids)]::text end;
end $$;
