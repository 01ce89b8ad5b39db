-- queue.move_selected: makes one step of a task with ids or a filter. Moves up to p_limit messages, each to the task's
-- destination or to the queue that the message came from. Messages in flight, delayed messages and messages without a
-- target queue stay and count as skipped. If another transaction has locked some messages, the next step starts at the
-- same place.
--   `looked_at` is the number of examined messages.
--   `place` is the place at which the next step continues.
--   `done` means that the selection has ended.
--   `failure` says why a message had no target queue.
-- Takes the locks of move_selected_side and move_selected_group. Does not wait for locks.
-- This file also contains selected_messages, move_selected_side, unlog_message and move_selected_group.
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
    -- The selection
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
    -- The move
    if not (select q.fifo from queue.queues q where q.queue_id = p_task.queue_id) then
        select * into v_step
        from queue.move_selected_side(p_task.queue_id, v_all.shards, v_all.ids, p_task.destination_arn);
        moved := v_step.moved;
        v_busy := v_step.busy;
    else
        failure := null;
        for v_group in
            select u.group_id, array_agg(u.id order by u.id) as ids
            from unnest(v_all.groups, v_all.all_ids) with ordinality u(group_id, id, n) group by u.group_id
            order by min(u.n)
        loop
            select * into v_step from queue.move_selected_group(p_task, v_group.group_id, v_group.ids);
            moved := moved + v_step.moved;
            failure := coalesce(v_step.failure, failure);
            v_busy := v_busy or v_step.busy;
            if v_step.stuck and v_all.next
                = queue.fifo_shard() || ':' || split_part(v_all.next, ':', 2) || ':' || v_group.group_id
            then
                -- The next search skips the rest of the group.
                v_all.next := queue.fifo_shard() || ':9223372036854775807:' || v_group.group_id;
            end if;
        end loop;
    end if;
    -- Progress
    if not v_busy then
        looked_at := v_all.looked_at;
        skipped := v_all.messages - moved;
        place := v_all.next;
        done := v_all.next is null;
    end if;
end $$;

-- queue.selected_messages: returns the next p_limit messages of a task with ids or a filter. Selects messages that were
-- in the queue when the task started.
--   `can_move` says whether a receive could return the message now.
--   `target_arn` and `failure` have the same meaning as in move_target.
-- The last row has a null id, the number of examined messages, and the place after which the task continues, or null at
-- the end.
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
        -- A step with a filter examines at most 2,000 messages.
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

-- queue.move_selected_side: moves messages of a standard queue. Each message has an element in both arrays. The caller
-- has found that each message is receivable and has a target queue.
--   `moved` is the number of moved messages. Other transactions have received the other messages.
--   `busy` means that a receive reads the shard of some messages, so the caller tries again.
-- Skips locked messages. Takes the locks of unlog_message.
create or replace function queue.move_selected_side(
    p_queue_id int, p_shards int[], p_ids bigint[], p_destination text, out moved int, out busy boolean)
language plpgsql as $$
declare
    v_places tid[];
begin
    busy := false;
    for v_n in 1 .. coalesce(cardinality(p_ids), 0) loop
        continue when p_shards[v_n] < 0 or exists (
            select from queue.side s where s.queue_id = p_queue_id and s.shard = p_shards[v_n] and s.id = p_ids[v_n]);
        if queue.unlog_message(p_queue_id, p_shards[v_n], p_ids[v_n]) = 'busy' then
            busy := true;
        end if;
    end loop;
    v_places := array(
        select s.ctid from unnest(p_shards, p_ids) u(shard, id)
        join queue.side s on s.queue_id = p_queue_id and s.shard = u.shard and s.id = u.id
        where s.visible_at <= (select clock_timestamp())
        for update of s skip locked);
    moved := queue.move_side_rows(p_queue_id, v_places, p_destination);
end $$;

-- queue.unlog_message: moves a receivable message of the log to the side table (queue.side), where the message stays
-- receivable. Returns `done`, `busy` if a receive reads the shard, or `gone` if the message is in flight or was
-- deleted. Locks the shard's reader or the lease's row without waiting.
create or replace function queue.unlog_message(p_queue_id int, p_shard int, p_id bigint) returns text
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_lease record;
begin
    if p_id > (select max(x.pos) from queue.lease x where x.queue_id = p_queue_id and x.shard = p_shard) then
        if not pg_try_advisory_xact_lock(queue.lock_key(1, p_queue_id, p_shard)) then
            return 'busy';
        end if;
        return case when queue.take_unreceived(p_queue_id, p_shard, p_id, v_now, false, false) then 'done'
            else 'gone' end;
    end if;
    select x.pos, x.receive_count into v_lease from queue.lease x
    where x.queue_id = p_queue_id and x.shard = p_shard and x.pos >= p_id and x.first_id <= p_id and p_id = any (x.ids)
        and (x.visible_at <= v_now or x.visible_at = 'infinity')
    order by x.pos limit 1 for update skip locked;
    if v_lease.pos is null then
        return 'gone';
    end if;
    return case when queue.unlease_messages(
        p_queue_id, p_shard, v_lease.pos, v_lease.receive_count, array[p_id], v_now) then 'done' else 'gone' end;
end $$;

-- queue.move_selected_group: moves selected messages of a FIFO group in their order. Stops at the first message that
-- cannot be received now, so no selected message overtakes another message.
--   `failure` says why some messages had no target queue (move_target).
--   `busy` means that another transaction has locked a group, so the caller tries again.
--   `stuck` means that a message in flight blocks later messages.
-- Locks the group's row and the target's group row without waiting.
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
            select f.id, bool_and(f.visible_at <= (select clock_timestamp())) over (order by f.id) as due
            from queue.fifo_message f where f.group_key = v_key and f.id = any (p_ids)) h
        -- If a listed message with a lower id still exists, earlier steps could not move that message, and the message
        -- blocks later messages.
        where h.due and not exists (
            select from queue.fifo_message e
            where e.group_key = v_key and e.group_key > 0 and e.id < p_ids[1]
                and queue.public_id(queue.fifo_shard(), e.id) = any (p_task.ids)));
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
