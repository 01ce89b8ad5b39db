-- queue.run_move_task(task, limit): one step of a message move task: moves up to p_limit messages, and not more than
-- its rate and its canary allow, in this transaction: each message leaves its queue and arrives in the other one, or stays.
-- Ends the task when nothing is left that could be received, or all selected messages were looked at; messages in flight
-- or delayed are not moved. A task that waits to be continued for 24 hours is cancelled (NotContinued).
-- The rate allows a second's worth of messages at once, then as many as time has passed for, whichever worker continues
-- the task.
-- Returns one row: messages moved and the status now; no row when the task does not run or another worker has it.
-- Raises QU004 (not under READ COMMITTED). Locks: the task's row (skipped when locked), then messages, shards and
-- groups, which a step never waits for: it delays no other transaction and cannot deadlock.
-- Index: fifo_ready_visible_at, and those of poll_queues.
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
begin
    perform queue.require_read_committed();
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
    v_selects := v_task.ids is not null or v_task.filter is not null;
    if v_task.canary is not null and v_task.continued_at is null then
        v_limit := least(v_limit, v_task.canary - v_task.moved);
    end if;
    if v_task.maximum_per_second is not null then
        v_paced_at := greatest(v_task.paced_at, clock_timestamp() - interval '1 second');
        if v_paced_at > clock_timestamp() + interval '2 minutes' then      -- the clock went back: no step uses up so much
            v_paced_at := clock_timestamp();
        end if;
        v_limit := least(v_limit, greatest(0, floor(
            extract(epoch from clock_timestamp() - v_paced_at) * v_task.maximum_per_second)));
    end if;
    select * into v_source from queue.queues q where q.queue_id = v_task.queue_id;
    if v_source.queue_id is null then
        select 0 as moved, 'AWS.SimpleQueueService.NonExistentQueue' as failure into v_step;
        v_selects := false;
    elsif v_selects then
        select * into v_step from queue.move_selected(v_task, v_limit);
    elsif v_source.fifo then
        select * into v_step from queue.move_groups(v_source.queue_id, v_limit, v_task.destination_arn);
    else
        perform queue.release_deferred(v_source.queue_id, v_source.shards);
        select * into v_step from queue.move_side(v_source.queue_id, v_limit, v_task.destination_arn);
        if v_step.moved = 0 and v_step.failure is null then     -- a step of its own, which has locked no message yet
            select * into v_step
            from queue.move_log(v_source.queue_id, v_source.shards, v_limit, v_task.destination_arn);
        end if;
    end if;
    if v_selects then
        return query
        update queue.move_task t
        set moved = t.moved + v_step.moved, looked_at = t.looked_at + v_step.looked_at, place = v_step.place,
            skipped = case when v_step.done and t.ids is not null then cardinality(t.ids) - t.moved - v_step.moved
                else t.skipped + v_step.skipped end,
            failure_reason = coalesce(v_step.failure, t.failure_reason),
            paced_at = coalesce(v_paced_at + v_step.moved * interval '1 second' / t.maximum_per_second, clock_timestamp()),
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
            when case when v_source.fifo     -- all groups, as move_groups; ready_queues may ask for a receive instead
                then not exists (
                    select from queue.fifo_ready r
                    where queue.time_key(r.queue_id, -2) = queue.time_key(v_source.queue_id, -2)
                        and r.visible_at <= clock_timestamp())
                else not exists (select from queue.ready_queues(array[v_source.arn])) end then 'COMPLETED'
            else 'RUNNING' end
    where t.task_id = p_task_id
    returning v_step.moved, t.status;
end $$;
