-- Reads and changes of message move tasks.

-- queue.cancel_move_task: ends a running task after its current step. Moved messages stay in the destination.
--   `moved` is the number of moved messages.
--   `error` is ResourceNotFoundException or null.
--   `detail` is SourceArn if the queue does not exist. `detail` is TaskHandle if the queue has no such task, or if the
--     task has ended.
-- Locks the task's row. The wait is short, because a task's step does not wait for locks.
create or replace function queue.cancel_move_task(p_task_id uuid, p_source text)
returns table (moved bigint, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_queue_id int;
    v_moved bigint;
begin
    select q.queue_id into v_queue_id from queue.queues q where q.arn = p_source;
    update queue.move_task t set status = 'CANCELLED', ended_at = clock_timestamp()
    where t.task_id = p_task_id and t.queue_id = v_queue_id and t.status = 'RUNNING'
    returning t.moved into v_moved;
    return query
    select v_moved, case when v_moved is null then 'ResourceNotFoundException' end,
        case when v_queue_id is null then 'SourceArn' when v_moved is null then 'TaskHandle' end;
end $$;

-- queue.count_move_sources: returns how many messages a task without a destination could move.
--   `p_ids` and `p_filter` are those of start_move_task.
--   `messages` is the number of selected messages that a receive could return now.
--   `without_source` is the number of those without a recorded source queue, because clients sent them directly.
--   `lost_source` is the number of those whose source queue no longer exists.
--   `is_complete` is false if the queue has more messages than the function examined: 10,000, for about a second.
--   `target_arns` contains up to three of the queues to which the others would return, in order.
-- Returns zeros if the queue does not exist. Takes no lock.
create or replace function queue.count_move_sources(p_source text, p_ids bigint[], p_filter jsonb)
returns table (messages bigint, without_source bigint, lost_source bigint, is_complete boolean, target_arns text[])
language sql stable as $$
with source as materialized (select q.queue_id from queue.queues q where q.arn = p_source),
selected as materialized (
    select m.id, m.system, null::text as next
    from source s cross join lateral queue.pick_messages(s.queue_id, p_ids) m
    where p_ids is not null and queue.message_state(m.visible_at, m.receive_count) = 'visible'
    union all
    select f.id, f.system, f.next
    from source s
    cross join lateral queue.find_messages(s.queue_id, coalesce(p_filter, '{}') || '{"states": ["visible"]}',
        clock_timestamp(), null, 10000, 10000, null, false, 1) f
    where p_ids is null)
select count(m.id), count(m.id) filter (where t.failure = 'CouldNotDetermineMessageSource'),
    count(m.id) filter (where t.failure = 'AWS.SimpleQueueService.NonExistentQueue'),
    coalesce(bool_and(m.next is null), true),
    coalesce((array_agg(distinct t.target_arn) filter (where t.target_arn is not null))[1:3], '{}')
from source s cross join selected m
left join lateral queue.move_target(s.queue_id, null, m.system) t on m.id is not null
$$;

-- queue.continue_move_task: lets a task continue after its canary. A rate that is not null replaces the task's rate. A
-- second call has no effect. `continued` is false if the queue has no such task, or if the task has ended. Locks the
-- task's row, and can wait for a step of the task.
create or replace function queue.continue_move_task(p_task_id uuid, p_source text, p_maximum_per_second int)
returns table (continued boolean)
language plpgsql as $$
begin
    update queue.move_task t
    set continued_at = coalesce(t.continued_at, clock_timestamp()),
        maximum_per_second = coalesce(p_maximum_per_second, t.maximum_per_second)
    where t.task_id = p_task_id and t.status = 'RUNNING'
        and t.queue_id = (select q.queue_id from queue.queues q where q.arn = p_source);
    if found then
        perform queue.notify_processes('move-tasks');
    end if;
    return query select found;
end $$;

-- queue.move_total: returns the number of messages that a task moves, with the skipped ones. Until a task with a filter
-- has examined all messages, the result is the number of matches when the task started, or null if that is not known.
create or replace function queue.move_total(p_task queue.move_task) returns bigint
language sql immutable parallel safe
return case when coalesce(p_task.filter, '{}') = '{}' then p_task.to_move
    when p_task.status = 'COMPLETED' then p_task.moved + p_task.skipped
    when p_task.matched is not null then greatest(p_task.matched, p_task.moved + p_task.skipped) end;

-- queue.describe_move_tasks: returns the last tasks of a queue, the newest first.
--   `p_task_id` restricts the result to this task, and null means all tasks.
--   `ids` contains the first 1,000 ids.
--   `to_move` is the number of messages that the task moves, if it is known (move_total).
--   `to_examine` is the number of ids, or of visible messages when the task started.
--   `state` is running, waiting (for a user to continue it), completed, cancelled or failed.
create or replace function queue.describe_move_tasks(p_source text, p_task_id uuid)
returns table (task_id text, state text, destination_arn text, maximum_per_second int, ids bigint[], filter text,
    title text, canary int, to_move bigint, to_examine bigint, moved bigint, skipped bigint, looked_at bigint,
    failure_reason text, started_at_ms bigint, continued_at_ms bigint, ended_at_ms bigint)
language sql stable as $$
select t.task_id::text, case when queue.is_waiting(t) then 'waiting' else lower(t.status) end, t.destination_arn,
    t.maximum_per_second, t.ids[1:1000], t.filter::text, t.title, t.canary, queue.move_total(t), t.to_move,
    t.moved, t.skipped, t.looked_at, t.failure_reason, queue.epoch_ms(t.started_at), queue.epoch_ms(t.continued_at),
    queue.epoch_ms(t.ended_at)
from queue.queues q join queue.move_task t on t.queue_id = q.queue_id
where q.arn = p_source and (p_task_id is null or t.task_id = p_task_id)
order by t.started_at desc
$$;

-- queue.read_canary: returns the first messages that a task moved before it waited, at most three, in their order. The
-- result is empty if the task does not wait.
--   `arn` and `public_id` are the queue to which a message moved, and its number there.
--   `state` is that of stored_message. It is dead_lettered if the message is among the last 1,000 dead letters of the
--     queue's dead-letter queue. For a message without a row, it is the outcome in the queue's history, or null.
-- Takes no lock. Uses the indexes of stored_message, and side_pkey.
create or replace function queue.read_canary(p_source text, p_task_id uuid)
returns table (arn text, public_id bigint, message_id uuid, state text, receive_count int)
language sql stable as $$
select c.message ->> 'arn', (c.message ->> 'number')::bigint, (c.message ->> 'id')::uuid,
    coalesce(m.state, case when exists (
        select from (
            select s.message_id from queue.side s
            where s.queue_id = d.queue_id and s.shard = queue.side_shard() order by s.id desc limit 1000) s
        where s.message_id = (c.message ->> 'id')::uuid) then 'dead_lettered' end, h.outcome),
    m.receive_count
from queue.queues q
join queue.move_task t on t.queue_id = q.queue_id and t.task_id = p_task_id and queue.is_waiting(t)
cross join lateral jsonb_array_elements(t.canary_messages) with ordinality c(message, place)
left join queue.queues o on o.arn = c.message ->> 'arn'
left join queue.queues d on d.arn = o.dead_letter_arn
left join lateral queue.stored_message(o.queue_id, (c.message ->> 'number')::bigint) m
    on m.message_id = (c.message ->> 'id')::uuid
left join lateral queue.outcome_in_history(o.queue_id, (c.message ->> 'sent')::bigint, null, null,
    to_timestamp((c.message ->> 'sent')::float8 / 1000)) h on m.state is null
where q.arn = p_source
order by c.place
$$;

-- queue.list_move_tasks: returns the last tasks of a dead-letter queue, the newest first. The first row is a header.
-- Its `error` is ResourceNotFoundException or null.
create or replace function queue.list_move_tasks(p_source text, p_limit int)
returns table (error text, task_id text, status text, destination_arn text, maximum_per_second int, moved bigint,
    to_move bigint, failure_reason text, started_at_ms bigint)
language plpgsql stable as $$
#variable_conflict use_column
declare
    v_queue_id int;
begin
    select q.queue_id into v_queue_id from queue.queues q where q.arn = p_source;
    error := case when v_queue_id is null then 'ResourceNotFoundException' end;
    return next;
    return query
    select null::text, t.task_id::text, t.status, t.destination_arn, t.maximum_per_second, t.moved,
        coalesce(queue.move_total(t), t.to_move), t.failure_reason, queue.epoch_ms(t.started_at)
    from queue.move_task t where t.queue_id = v_queue_id
    order by t.started_at desc limit p_limit;
end $$;

-- queue.running_move_tasks: returns the message move task to run next for each account. The account's next task is the
-- unlocked task that has not run for the longest time. Tasks whose rate allows a message come first. Each turn of a
-- worker makes one step for each account, so an account with many tasks does not have more steps than an account with
-- one task. Costs one probe of an empty index if no task is running. Locks the tasks until the end of the caller's
-- transaction, which usually follows at once. Skips locked tasks.
create or replace function queue.running_move_tasks() returns table (task_id uuid)
language sql as $$
with running as (
    select t.task_id, t.paced_at, coalesce(q.account_id, '') as account_id,
        t.paced_at > clock_timestamp() - interval '1 second' / t.maximum_per_second as paced
    from queue.move_task t left join queue.queues q on q.queue_id = t.queue_id
    where t.status = 'RUNNING'
        and (not queue.is_waiting(t) or t.paced_at < clock_timestamp() - interval '24 hours'))
select coalesce(
    (select t.task_id from running r join queue.move_task t on t.task_id = r.task_id
     where r.account_id = a.account_id order by r.paced is true, r.paced_at limit 1 for update of t skip locked),
    a.task_id)
from (select distinct on (r.account_id) r.account_id, r.task_id from running r order by r.account_id, r.paced_at) a
order by random()
$$;

-- queue.list_dead_letter_sources: returns the names of the queues that use a dead-letter queue, in order. `p_after`
-- restricts the result to later names. Null means all names. Uses the index queues_dead_letter_arn.
create or replace function queue.list_dead_letter_sources(p_arn text, p_after text, p_limit int)
returns table (name text)
language sql stable as $$
select q.name from queue.queues q
where q.dead_letter_arn = p_arn and q.name > coalesce(p_after, '')
order by q.name
limit p_limit
$$;
