-- queue.start_move_task: starts a task that moves messages out of a queue.
--   `p_destination` is the target queue, and null means that each message returns to the queue that it came from.
--   `p_maximum_per_second` is 1 to 500, or null for no limit.
--   `p_ids` contains the public ids of the messages to move.
--   `p_filter` is a filter of find_messages, whose states have no effect.
--   `p_canary` is the number of messages after which the task waits for continue_move_task. Null means that the task
--     does not wait.
--   `p_title` is the title of the group that p_filter selects. The list of tasks shows it.
-- Counts the matches of p_filter among the first 10,000 messages, for about a second. With more messages, the number of
-- matches stays unknown until the task completes (move_total).
-- Without p_ids and p_filter, the source must be a dead-letter queue, and the task moves all receivable messages.
--   `error` is ResourceNotFoundException, NotADeadLetterQueue, MoveToItself, MoveToOtherType or MoveTaskRunning.
--   `detail` is the name of the wrong parameter.
-- Keeps the last ten tasks of the queue. Uses the indexes move_task_queue and queues_dead_letter_arn.
create or replace function queue.start_move_task(p_source text, p_destination text, p_maximum_per_second int,
    p_ids bigint[] default null, p_filter jsonb default null, p_canary int default null,
    p_title text default null)
returns table (task_id text, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_source queue.queues;
    v_task_id uuid;
    v_error text;
    v_matched bigint;
begin
    select * into v_source from queue.queues q where q.arn = p_source;
    if v_source.queue_id is null then
        return query select null::text, 'ResourceNotFoundException'::text, 'SourceArn'::text;
        return;
    end if;
    v_error := case
        when p_ids is null and p_filter is null
            and not exists (select from queue.queues q where q.dead_letter_arn = p_source) then 'NotADeadLetterQueue'
        when p_destination is null then null
        when not exists (select from queue.queues q where q.arn = p_destination) then 'ResourceNotFoundException'
        when p_destination = p_source then 'MoveToItself'
        when queue.is_fifo_name(p_destination) <> v_source.fifo then 'MoveToOtherType' end;
    if v_error is not null then
        return query select null::text, v_error, 'DestinationArn'::text;
        return;
    end if;
    if p_filter - 'states' <> '{}' then
        select count(f.id) into v_matched
        from queue.find_messages(v_source.queue_id, p_filter - 'states', clock_timestamp(), null,
            10000, 10000, null, false, 1) f
        having bool_or(f.id is null and f.next is null);
    end if;
    insert into queue.move_task (queue_id, destination_arn, maximum_per_second, ids, matched, filter, title, canary,
        to_move)
    select v_source.queue_id, p_destination, p_maximum_per_second,
        case when p_ids is not null then array(select distinct i from unnest(p_ids) i order by i) end,
        v_matched, p_filter - 'states', p_title, p_canary,
        case when p_ids is null then c.visible else (select count(distinct i) from unnest(p_ids) i) end
    from queue.count_messages(v_source.queue_id, v_source.fifo, v_source.shards) c
    on conflict (queue_id) where status = 'RUNNING' do nothing
    returning task_id into v_task_id;
    if v_task_id is not null then
        perform queue.notify_processes('move-tasks');
    end if;
    delete from queue.move_task t where t.task_id = any (array(
        select o.task_id from queue.move_task o where o.queue_id = v_source.queue_id
        order by o.started_at desc offset 10)) and t.status <> 'RUNNING';
    return query select v_task_id::text, case when v_task_id is null then 'MoveTaskRunning' end, null::text;
end $$;
