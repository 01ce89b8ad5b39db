-- queue.dispatch_schedule(schedule, occurrence, out of band, attempt, topic message): sends a schedule's message to its
-- queue or topic, or stores the invocation of its function, and records the run, in this transaction. An occurrence has one row in schedule_run, so a second run
-- raises an error, which undoes its messages too.
-- p_attempt: 1, 2, …; p_topic_message: for a topic of SNS, the message as scheduler/firing/topic_messages.py prepared it:
-- {version, message_id, contents, bytes, facts}; for any target also "trace", the trace header.
-- Returns the run; message_ids is [{"queue_name", "msg_id"}], a member a message; of a topic of SNS, and of a function, without ids.
-- Raises QU006 (the target refused the message; detail: the error's code as AWS names it), QU007 (detail: the version
-- that the topic message has to be signed with), QU008 (the occurrence had fired before). Locks: those of send_messages,
-- publish_events, publish_messages, invoke_function. Index: schedule_run_once.
create or replace function queue.dispatch_schedule(
    p_schedule queue.schedule, p_at timestamptz, p_out_of_band boolean, p_attempt int, p_topic_message jsonb)
returns queue.schedule_run
language plpgsql as $$
declare
    v_target jsonb := (p_schedule).target;
    v_trace text := p_topic_message ->> 'trace';
    v_native boolean := not v_target ? 'Arn';
    v_message record;
    v_arn text;
    v_group text;
    v_fifo boolean;
    v_sent record;
    v_ids jsonb;
    v_run queue.schedule_run;
begin
    if v_native then
        select m.body, m.attributes, m.size into v_message
        from queue.schedule_message(p_schedule, p_at, p_out_of_band) m;
    end if;
    case queue.target_kind(v_target)
    when 'topic' then
        if v_native then
            v_ids := (
                select coalesce(jsonb_agg(jsonb_build_object('queue_name', split_part(e.arn, ':', 6), 'msg_id', e.id)), '[]')
                from queue.publish_events((p_schedule).account_id, (p_schedule).region, v_target ->> 'topic',
                    v_message.body, v_message.attributes, queue.as_headers(v_message.attributes),
                    case when v_target ? 'body' then nullif(v_target -> 'facts', 'null')
                        else queue.body_facts(v_target -> 'message') end, null, v_trace) e
                where e.arn is not null and e.error is null);
        else
            v_ids := queue.publish_schedule_to_topic(v_target, p_topic_message);
        end if;
    when 'queue' then
        if v_native then
            v_arn := format('arn:aws:sqs:%s:%s:%s', (p_schedule).region, (p_schedule).account_id, v_target ->> 'queue');
        else
            v_arn := v_target ->> 'Arn';
            select i.body, null::jsonb as attributes, queue.message_size(i.body, null) as size into v_message
            from (select queue.schedule_input(p_schedule, p_at, p_attempt) as body) i;
        end if;
        -- In a standard queue the group is the message's tenant (fair queues).
        v_fifo := right(v_arn, 5) = '.fifo';
        v_group := case when not v_native then v_target -> 'SqsParameters' ->> 'MessageGroupId'
            when v_fifo then (p_schedule).name end;
        select s.id, s.error, s.detail into v_sent
        from queue.send_messages(array[v_arn], array[gen_random_uuid()], array[v_message.body], array[v_message.size],
            array[v_message.attributes], array[coalesce(v_target -> 'system', queue.system_attributes(case when not v_fifo then v_group end, v_trace))],
            null, case when v_fifo then array[v_group] end,
            case when v_fifo and v_native then array[case when p_out_of_band then gen_random_uuid()::text
                else format('%s-%s', (p_schedule).schedule_id, extract(epoch from p_at)::bigint) end] end) s;
        if v_sent.error is not null then
            raise exception '%', case v_sent.error
                    when 'QueueDoesNotExist' then format('Queue ''%s'' does not exist', split_part(v_arn, ':', 6))
                    when 'MessageTooLong' then format('The message is longer than the queue''s %s bytes', v_sent.detail)
                    else concat_ws(': ', v_sent.error, v_sent.detail) end
                using errcode = 'QU006', detail = case v_sent.error
                    when 'QueueDoesNotExist' then 'AWS.SimpleQueueService.NonExistentQueue'
                    when 'MessageTooLong' then 'InvalidParameterValue' else v_sent.error end;
        end if;
        v_ids := jsonb_build_array(jsonb_build_object('queue_name', split_part(v_arn, ':', 6), 'msg_id', v_sent.id));
    when 'function' then
        v_ids := queue.invoke_function(p_schedule, p_at, p_attempt, v_trace);
    else
        raise exception 'no such kind of target: %', v_target ->> 'Arn'
            using errcode = 'QU006', detail = 'ValidationException';
    end case;
    insert into queue.schedule_run as r (schedule_id, scheduled_for, out_of_band, attempts, fired_at, message_ids)
    values ((p_schedule).schedule_id, p_at, p_out_of_band, p_attempt, clock_timestamp(), v_ids)
    on conflict (schedule_id, scheduled_for) where not out_of_band do update
    set attempts = r.attempts + 1, fired_at = excluded.fired_at, message_ids = excluded.message_ids, error = null,
        recorded_at = excluded.recorded_at
    where r.fired_at is null
    returning r.* into v_run;
    if v_run.run_id is null then
        raise exception 'this occurrence has fired before' using errcode = 'QU008';
    end if;
    return v_run;
end $$;
