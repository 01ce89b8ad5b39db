-- queue.run_move_task: makes one step of a message move task in this transaction. The step moves up to p_limit
-- messages, at most as many as the task's rate and canary allow. A step does not move messages in flight or delayed
-- messages. A step deletes expired messages. The task ends when no visible message remains, or when it has examined all
-- selected messages. If no user continues a waiting task for 24 hours, cancels the task (NotContinued). The rate allows
-- the messages of one second at once, and later messages in proportion to the time. The rate applies to all workers
-- together. Returns the number of moved messages and the task's status. Returns no row if the task does not run or
-- another worker has locked the task. Locks the task's row, then messages, shards and groups. A step does not wait for
-- locks, so the step cannot delay other transactions or deadlock. Uses the index fifo_ready_visible_at and poll_queues'
-- indexes. Raises QU004 (not under READ COMMITTED).
-- This file also contains move_groups, move_group, release_deferred, move_side and move_log.
create or replace function queue.run_move_task(p_task_id uuid, p_limit int)
returns table (moved int, status text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_task queue.move_task;
    v_source queue.queues;
    v_paced_at timestamptz;
    v_limit int := p_limit;
    v_step record;
    v_selects boolean;
    v_before timestamptz;
begin
    perform queue.require_read_committed();
    -- The task
    select * into v_task from queue.move_task t
    where t.task_id = p_task_id and t.status = 'RUNNING' for update skip locked;
    if v_task.task_id is null then
        return;
    end if;
    if queue.is_waiting(v_task) then
        return query
        update queue.move_task t set status = 'CANCELLED', failure_reason = 'NotContinued', ended_at = clock_timestamp()
        where t.task_id = p_task_id and t.paced_at < clock_timestamp() - interval '24 hours'
        returning 0, t.status;
        return;
    end if;
    -- The number of messages that the canary and the rate allow
    v_selects := v_task.ids is not null or v_task.filter is not null;
    if v_task.canary is not null and v_task.continued_at is null then
        v_limit := least(v_limit, v_task.canary - v_task.moved);
    end if;
    if v_task.maximum_per_second is not null then
        v_paced_at := greatest(v_task.paced_at, clock_timestamp() - interval '1 second');
        -- A step moves the time ahead by less than two minutes. A later time means that the clock went back.
        if v_paced_at > clock_timestamp() + interval '2 minutes' then
            v_paced_at := clock_timestamp();
        end if;
        v_limit := least(v_limit, greatest(0, floor(
            extract(epoch from clock_timestamp() - v_paced_at) * v_task.maximum_per_second)));
    end if;
    -- The step
    select * into v_source from queue.queues q where q.queue_id = v_task.queue_id;
    v_before := clock_timestamp() - v_source.retention_seconds * interval '1 second';
    if v_source.queue_id is null then
        select 0 as moved, 'AWS.SimpleQueueService.NonExistentQueue' as failure into v_step;
        v_selects := false;
    elsif v_selects then
        select * into v_step from queue.move_selected(v_task, v_limit);
    elsif v_source.fifo then
        select * into v_step from queue.move_groups(v_source.queue_id, v_limit, v_task.destination_arn, v_before);
    else
        perform queue.release_deferred(v_source.queue_id, v_source.shards);
        select * into v_step from queue.move_side(v_source.queue_id, v_limit, v_task.destination_arn, v_before);
        -- The receive from the log is a separate step, before which this transaction has not locked a message.
        if v_step.moved = 0 and v_step.failure is null then
            select * into v_step
            from queue.move_log(
                v_source.queue_id, v_source.shards, v_limit, v_task.destination_arn, v_before);
        end if;
    end if;
    -- Progress
    if v_selects then
        return query
        update queue.move_task t
        set moved = t.moved + v_step.moved, looked_at = t.looked_at + v_step.looked_at, place = v_step.place,
            skipped = case when v_step.done and t.ids is not null then cardinality(t.ids) - t.moved - v_step.moved
                else t.skipped + v_step.skipped end,
            failure_reason = coalesce(v_step.failure, t.failure_reason),
            paced_at = coalesce(v_paced_at + v_step.moved * interval '1 second' / t.maximum_per_second,
                clock_timestamp()),
            status = case when v_step.done then 'COMPLETED' else t.status end,
            ended_at = case when v_step.done then clock_timestamp() end
        where t.task_id = p_task_id
        returning v_step.moved, t.status;
        return;
    end if;
    return query
    update queue.move_task t
    set moved = t.moved + v_step.moved,
        paced_at = coalesce(v_paced_at + v_step.moved * interval '1 second' / t.maximum_per_second, clock_timestamp()),
        failure_reason = v_step.failure,
        status = case when v_step.failure is not null then 'FAILED'
            -- All groups count, as in move_groups, although ready_queues can return a queue that only needs a search by
            -- a receive.
            when case when v_source.fifo
                then not exists (
                    select from queue.fifo_ready r
                    where queue.fifo_key(r.queue_id) = queue.fifo_key(v_source.queue_id)
                        and r.visible_at <= (select clock_timestamp()))
                else not exists (select from queue.ready_queues(array[v_source.arn])) end then 'COMPLETED'
            else 'RUNNING' end
    where t.task_id = p_task_id
    returning v_step.moved, t.status;
end $$;

-- queue.move_groups: moves messages of a FIFO queue, group by group. The group that has been ready for the longest time
-- comes first. Moves the first visible messages of a group that have the same target queue. Stops at a message that
-- cannot move, so no message of the group overtakes another message. Deletes messages that were sent before
-- p_sent_before, because these messages have expired. `failure` says why the next message could not move (move_target).
-- Skips locked groups in both queues. Uses the index fifo_ready_visible_at.
create or replace function queue.move_groups(
    p_queue_id int, p_limit int, p_destination text, p_sent_before timestamptz, out moved int, out failure text)
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
        where queue.fifo_key(r.queue_id) = queue.fifo_key(p_queue_id) and r.visible_at <= v_now
        -- The query returns up to 100 groups more, because some groups have no message that can move.
        order by r.visible_at, r.group_key limit p_limit + 100 for update of g skip locked
    loop
        exit when moved >= p_limit;
        if (select f.sent_at from queue.first_group_message(v_group.group_key) f) < p_sent_before then
            perform queue.purge_group(p_queue_id, v_group.group_key, p_sent_before);
        end if;
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

-- queue.move_group: moves the first visible messages of a FIFO group to the same group of p_target_arn
-- (move_group_messages). Returns the number of messages, at most p_limit. The result is 0 if another transaction has
-- locked the target's group or deleted the target. The caller has locked the group's row. Locks the target's group row
-- without waiting.
create or replace function queue.move_group(
    p_queue_id int, p_group_key bigint, p_group_id text, p_limit int, p_destination text, p_target_arn text)
returns int
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_ids bigint[];
begin
    v_ids := array(
        select head.id from (
            select m.id, bool_and(m.visible_at <= v_now and coalesce(p_destination,
                m.system ->> 'DeadLetterQueueSourceArn', '') = p_target_arn) over (order by m.id) as due
            from (select f.id, f.visible_at, f.system from queue.fifo_message f
                  where f.group_key = p_group_key and f.group_key > 0
                    and f.id >= (select h.first_id from queue.first_group_message(p_group_key) h)
                  order by f.id limit p_limit) m) head
        where head.due);
    return case when queue.move_group_messages(p_queue_id, p_group_key, p_group_id, v_ids, p_target_arn)
        then cardinality(v_ids) else 0 end;
end $$;

-- queue.release_deferred: makes the deferred messages of noisy groups the first messages of the next receive. Omits
-- shards that have a reader now. Locks the readers of the shards.
create or replace function queue.release_deferred(p_queue_id int, p_shards int) returns void
language plpgsql as $$
declare
    v_watermark timestamptz;
begin
    if not exists (select from queue.deferred d where d.queue_id = p_queue_id) then
        return;
    end if;
    for v_shard in reverse p_shards - 1 .. 0 loop
        continue when not pg_try_advisory_xact_lock(queue.lock_key(1, p_queue_id, v_shard));
        select c.watermark into v_watermark from queue.lease c
        where c.queue_id = p_queue_id and c.shard = v_shard order by c.pos desc limit 1;
        update queue.lease x set visible_at = greatest(clock_timestamp(), v_watermark + interval '2 microseconds')
        where queue.time_key(x.queue_id, x.shard) = queue.time_key(p_queue_id, v_shard) and x.visible_at = 'infinity';
        delete from queue.deferred d where d.queue_id = p_queue_id and d.shard = v_shard;
    end loop;
end $$;

-- queue.move_side: moves messages of the side table (queue.side). The messages that have been visible for the longest
-- time come first. Messages from other queues are in the side table. `failure` says why other messages could not move
-- (move_target). Skips locked messages. Uses the index side_visible_at.
create or replace function queue.move_side(
    p_queue_id int, p_limit int, p_destination text, p_sent_before timestamptz, out moved int, out failure text)
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_due record;
begin
    if exists (
        select from queue.side r
        where queue.side_key(r.queue_id) = queue.side_key(p_queue_id) and r.sent_at < p_sent_before)
    then
        perform queue.purge_side(p_queue_id, p_sent_before);
    end if;
    with due as materialized (
        select r.ctid as place, r.system from queue.side r
        where queue.side_key(r.queue_id) = queue.side_key(p_queue_id) and r.visible_at <= v_now
            and r.sent_at >= p_sent_before
        order by r.visible_at, r.id limit p_limit for update skip locked)
    select array_agg(d.place) filter (where t.failure is null) as places, max(t.failure) as failure into v_due
    from due d cross join lateral queue.move_target(p_queue_id, p_destination, d.system) t;
    failure := v_due.failure;
    moved := queue.move_side_rows(p_queue_id, v_due.places, p_destination);
end $$;

-- queue.move_log: moves messages that clients sent to a dead-letter queue directly. Receives these messages and ends
-- their leases at once. Messages that clients sent directly have no source queue, so they cannot move without a
-- destination. `failure` says why the messages could not move, as in move_target. Locks readers of shards without
-- waiting. The setting queue.reads says that this transaction reads a shard.
create or replace function queue.move_log(
    p_queue_id int, p_shards int, p_limit int, p_destination text, p_sent_before timestamptz, out moved int,
    out failure text)
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_taken queue.received_row[];
    v_systems jsonb[];
begin
    moved := 0;
    if p_limit = 0 or not exists (select from queue.ready_shards(p_queue_id, p_shards, v_now)) then
        return;
    end if;
    failure := case when p_destination is null then 'CouldNotDetermineMessageSource'
        when not exists (select from queue.queues q where q.arn = p_destination)
            then 'AWS.SimpleQueueService.NonExistentQueue' end;
    if failure is not null then
        return;
    end if;
    perform set_config('queue.reads', 'on', true);
    v_taken := array(
        select t::queue.received_row from queue.take_log(
            p_queue_id => p_queue_id, p_shards => p_shards, p_max => p_limit, p_lease_size => p_limit,
            p_visibility => interval '0', p_max_receive_count => null, p_dead_letter_arn => null,
            p_sent_before => p_sent_before, p_fair => false) t);
    moved := cardinality(v_taken);
    if moved = 0 then
        return;
    end if;
    update queue.lease x            -- This statement undoes the receive, because no consumer received the messages.
    set ids = '{}', done_at = v_now, outcome = 'moved', receive_count = x.receive_count - 1,
        first_received_at = case when x.receive_count > 1 then x.first_received_at end,
        redelivered_at = nullif(array_remove(x.redelivered_at, x.visible_at), '{}')     -- The lease lasted 0 seconds.
    from (select distinct t.shard, t.pos from unnest(v_taken) t) taken
    where x.queue_id = p_queue_id and x.shard = taken.shard and x.pos = taken.pos;
    -- This statement undoes the count of redeliveries by take_expired.
    insert into queue.activity (queue_id, redelivered)
    select p_queue_id, -count(*) from unnest(v_taken) t where t.receive_count > 1 having count(*) > 0;
    v_systems := array(         -- The log still has the attributes that clients do not see.
        select queue.move_system(q.arn, t.public_id, t.message_id, l.sent_at, t.receive_count - 1, null, l.system)
        from unnest(v_taken) with ordinality t
        left join queue.log l on l.queue_id = p_queue_id and l.shard = t.shard and l.id = t.id
        join queue.queues q on q.queue_id = p_queue_id
        order by t.ordinality);
    perform queue.send_moved(p_queue_id, array_fill(p_destination, array[moved]), v_taken, v_systems);
end $$;
