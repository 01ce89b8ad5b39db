-- queue.dispatch_schedule: sends a schedule's message, or stores the invocation of the schedule's Lambda function, and
-- records the run in this transaction. Returns the run. An occurrence has one row in schedule_run. A second run
-- therefore raises an error, which also undoes its messages.
--   `p_attempt` is the number of the attempt, from 1.
--   `p_message` is the message from scheduler/firing/target_messages.py, if the target needs one (needs_built_message).
--     It has one of these members, or the error with its code:
--     `publication` for an SNS topic, with `topic` and `version`
--     `event` for a bus, with columns of put_bus_events
--     `entry` for the queue of a universal target, with the fields of SendEntry
--     `function` for a universal target, which is the function's ARN
--     For any target, the message can also have "trace", the trace header.
--   `message_ids` is [{"queue_name", "msg_id"}] for each message. Other targets than queues have null ids.
-- Raises QU006 if the target refuses the message. The error's detail is AWS's name of the error. Raises QU007 if the
-- message is missing, or has to be signed with another version. The error's detail is that version. Raises QU008 if the
-- occurrence fired before. Takes the locks of send_messages, publish_events, publish_messages, put_bus_events and
-- invoke_function. Uses the index schedule_run_once.
-- This file also contains send_schedule_to_queue, publish_schedule_event, publish_schedule_to_topic,
-- publish_schedule_to_bus and invoke_function.
create or replace function queue.dispatch_schedule(
    p_schedule queue.schedule, p_at timestamptz, p_out_of_band boolean, p_attempt int, p_message jsonb)
returns queue.schedule_run
language plpgsql as $$
declare
    v_target jsonb := (p_schedule).target;
    v_trace text := p_message ->> 'trace';
    v_ids jsonb;
    v_run queue.schedule_run;
begin
    if p_message ? 'error' then
        raise exception '%', p_message ->> 'error' using errcode = 'QU006', detail = p_message ->> 'code';
    elsif p_message is null and queue.needs_built_message(v_target) then
        raise exception 'the message is not built' using errcode = 'QU007', detail = '';
    end if;
    case queue.target_kind(v_target)
    when 'topic' then
        v_ids := case when v_target ? 'Arn' then queue.publish_schedule_to_topic(v_target, p_message)
            else queue.publish_schedule_event(p_schedule, p_at, p_out_of_band, v_trace) end;
    when 'queue' then
        v_ids := queue.send_schedule_to_queue(p_schedule, p_at, p_out_of_band, p_attempt, p_message);
    when 'bus' then
        v_ids := queue.publish_schedule_to_bus(p_schedule, p_message -> 'event');
    when 'function' then
        v_ids := queue.invoke_function(p_schedule, p_at, p_attempt, v_trace,
            coalesce(p_message ->> 'function', v_target ->> 'Arn'));
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

-- queue.send_schedule_to_queue: sends the message of a schedule to its queue. Returns [{"queue_name", "msg_id"}]. A
-- schedule of the REST API sends its message. A schedule of EventBridge Scheduler sends its Input, or for a universal
-- target the entry of p_message. Raises QU006 if the queue refuses the message (dispatch_schedule). Takes the locks of
-- send_messages.
create or replace function queue.send_schedule_to_queue(
    p_schedule queue.schedule, p_at timestamptz, p_out_of_band boolean, p_attempt int, p_message jsonb)
returns jsonb
language plpgsql as $$
declare
    v_target jsonb := (p_schedule).target;
    v_entry jsonb := p_message -> 'entry';
    v_is_rest boolean := not v_target ? 'Arn';
    v_message record;
    v_arn text;
    v_group text;
    v_fifo boolean;
    v_sent record;
begin
    if v_is_rest then
        v_arn := format('arn:aws:sqs:%s:%s:%s', (p_schedule).region, (p_schedule).account_id, v_target ->> 'queue');
        select m.body, m.attributes, m.size into v_message
        from queue.schedule_message(p_schedule, p_at, p_out_of_band) m;
    elsif v_entry is not null then
        v_arn := v_entry ->> 'queue_arn';
        select v_entry ->> 'body' as body, v_entry -> 'attributes' as attributes,
            (v_entry ->> 'size_bytes')::int as size into v_message;
    else
        v_arn := v_target ->> 'Arn';
        select i.body, null::jsonb as attributes, queue.message_size(i.body, null) as size into v_message
        from (select queue.schedule_input(p_schedule, p_at, p_attempt) as body) i;
    end if;
    -- A message of a standard queue can have a group (fair queues).
    v_fifo := queue.is_fifo_name(v_arn);
    v_group := case when v_is_rest then case when v_fifo then (p_schedule).name end
        else coalesce(v_entry ->> 'group_id', v_target -> 'SqsParameters' ->> 'MessageGroupId') end;
    select s.id, s.error, s.detail into v_sent
    from queue.send_messages(
        p_queues => array[v_arn], p_message_ids => array[gen_random_uuid()], p_bodies => array[v_message.body],
        p_sizes => array[v_message.size], p_attributes => array[v_message.attributes],
        p_system => array[coalesce(
            v_target -> 'system',
            coalesce(queue.system_attributes(null, p_message ->> 'trace'), '{}') || (v_entry -> 'system'),
            queue.system_attributes(case when not v_fifo then v_group end, p_message ->> 'trace'))],
        p_delays => array[(v_entry ->> 'delay_seconds')::int],
        p_groups => case when v_fifo then array[v_group] end,
        p_deduplication_ids => case when v_fifo and v_is_rest
            then array[case when p_out_of_band then gen_random_uuid()::text
                else format('%s-%s', (p_schedule).schedule_id, extract(epoch from p_at)::bigint) end]
            when v_fifo then array[v_entry ->> 'deduplication_id'] end) s;
    if v_sent.error is not null then
        raise exception '%', case v_sent.error
                when 'QueueDoesNotExist' then format('Queue ''%s'' did not exist', split_part(v_arn, ':', 6))
                when 'MessageTooLong' then format('The message is longer than the queue''s %s bytes', v_sent.detail)
                else concat_ws(': ', v_sent.error, v_sent.detail) end
            using errcode = 'QU006', detail = case v_sent.error
                when 'QueueDoesNotExist' then 'AWS.SimpleQueueService.NonExistentQueue'
                when 'MessageTooLong' then 'InvalidParameterValue' else v_sent.error end;
    end if;
    return jsonb_build_array(jsonb_build_object('queue_name', split_part(v_arn, ':', 6), 'msg_id', v_sent.id));
end $$;

-- queue.publish_schedule_event: publishes the message of a REST API schedule to its routing key. Returns
-- [{"queue_name", "msg_id"}], with a member for each queue that got the event. Raises QU009 if too many deliveries
-- wait. Takes the locks of publish_events.
create or replace function queue.publish_schedule_event(
    p_schedule queue.schedule, p_at timestamptz, p_out_of_band boolean, p_trace text)
returns jsonb
language plpgsql as $$
declare
    v_target jsonb := (p_schedule).target;
    v_facts jsonb := case when v_target ? 'body' then nullif(v_target -> 'facts', 'null')
        else queue.body_facts(v_target -> 'message') end;
begin
    perform queue.note_unjudged(v_target ->> 'topic', v_facts);
    return (
        select coalesce(jsonb_agg(jsonb_build_object('queue_name', split_part(e.arn, ':', 6), 'msg_id', e.id)), '[]')
        from queue.schedule_message(p_schedule, p_at, p_out_of_band) m
        cross join lateral queue.publish_events(
            p_account_id => (p_schedule).account_id, p_region => (p_schedule).region,
            p_routing_key => v_target ->> 'topic', p_body => m.body, p_attributes => m.attributes,
            p_headers => queue.as_headers(m.attributes),
            p_facts => v_facts, p_delay => null, p_trace => p_trace) e
        where e.arn is not null and e.error is null);
end $$;

-- queue.publish_schedule_to_topic: publishes to the SNS topic of a schedule's target, as Publish does. Returns
-- [{"queue_name": null, "msg_id": null, "message_id"}]. `p_message` is {topic, version, publication, trace}. The
-- publication has the format of publish_messages. Raises QU006 and QU007, as dispatch_schedule does. Takes the locks of
-- publish_messages.
create or replace function queue.publish_schedule_to_topic(p_target jsonb, p_message jsonb) returns jsonb
language plpgsql as $$
declare
    v_topic text := p_message ->> 'topic';
    v_group text := case when queue.is_fifo_name(v_topic)
        then coalesce(p_message -> 'publication' ->> 'group_id', p_target -> 'SqsParameters' ->> 'MessageGroupId') end;
    v_row record;
begin
    if queue.is_fifo_name(v_topic) and v_group is null then
        raise exception 'Invalid parameter: The MessageGroupId parameter is required for FIFO topics'
            using errcode = 'QU006', detail = 'InvalidParameter';
    end if;
    select p.message_id, p.error, p.detail into v_row
    from queue.publish_messages(array[(p_message -> 'publication')
            || jsonb_strip_nulls(jsonb_build_object('trace', p_message -> 'trace', 'group_id', v_group))],
        v_topic, coalesce(p_message ->> 'version', '')) p;
    if v_row.error = 'OtherSignatureVersion' then
        raise exception 'the message is not signed with the topic''s version'
            using errcode = 'QU007', detail = v_row.detail;
    elsif v_row.error is not null then
        raise exception '%', case v_row.error when 'NotFound' then 'Topic did not exist'
                when 'MessageTooLong' then 'Invalid parameter: Message too long'
                when 'RequestThrottled' then 'too many deliveries wait' else v_row.error end
            using errcode = 'QU006', detail = case v_row.error when 'MessageTooLong' then 'InvalidParameter'
                when 'RequestThrottled' then 'Throttled' else v_row.error end;
    end if;
    return jsonb_build_array(jsonb_build_object('queue_name', null, 'msg_id', null, 'message_id', v_row.message_id));
end $$;

-- queue.publish_schedule_to_bus: publishes the event of a schedule on its bus, in the account of the schedule. Returns
-- [{"queue_name": null, "msg_id": null, "message_id"}]. Raises QU006 if the bus does not exist. Takes the locks of
-- put_bus_events.
create or replace function queue.publish_schedule_to_bus(p_schedule queue.schedule, p_event jsonb) returns jsonb
language plpgsql as $$
declare
    v_error text;
begin
    select e.error into v_error
    from queue.put_bus_events(
        p_bus => (p_schedule).target ->> 'Arn', p_account => (p_schedule).account_id,
        p_event_ids => array[(p_event ->> 'event_id')::uuid],
        p_content_types => array[(p_event ->> 'content_type')::smallint],
        p_data => array[convert_to(p_event ->> 'data', 'UTF8')],
        p_metadata => array[nullif(p_event -> 'metadata', 'null')], p_sources => array[p_event ->> 'source'],
        p_detail_types => array[p_event ->> 'detail_type'],
        p_groups => array[null::text]) e;
    if v_error is not null then
        raise exception 'The event bus does not exist' using errcode = 'QU006', detail = 'ResourceNotFoundException';
    end if;
    return jsonb_build_array(jsonb_build_object(
        'queue_name', null, 'msg_id', null, 'message_id', p_event -> 'event_id'));
end $$;

-- queue.invoke_function: stores an invocation of a schedule's Lambda function for the worker `deliver`. Returns
-- [{"queue_name": null, "msg_id": null, "message_id"}]. The notice keeps the schedule, because each attempt has a
-- different input (queue.delivery_body). The delivery's retry_policy has the maximum number of attempts and the time of
-- the last attempt, in seconds since 1970 (RetryPolicy, EventBridge Scheduler API Reference). Raises QU006 if
-- the function belongs to another account, or if too many deliveries of the account wait.
create or replace function queue.invoke_function(p_schedule queue.schedule, p_at timestamptz, p_attempt int,
    p_trace text, p_function text)
returns jsonb
language plpgsql as $$
declare
    v_target jsonb := (p_schedule).target;
    v_account text := (p_schedule).account_id;
    v_notice queue.notice;
begin
    if split_part(p_function, ':', 5) <> v_account then
        raise exception 'The function belongs to another account' using errcode = 'QU006',
            detail = 'AccessDeniedException';
    elsif exists (select from queue.delivery_excess e where e.account_id = v_account and e.protocol = '') then
        raise exception 'too many deliveries wait' using errcode = 'QU006', detail = 'Throttled';
    end if;
    insert into queue.notice (kind, message_id, raw, schedule, trace)
    values ('schedule', gen_random_uuid(), queue.schedule_input(p_schedule, p_at, p_attempt), jsonb_build_object(
        'at', p_at, 'earlier_attempts', p_attempt - 1, 'schedule', jsonb_build_object(
            'schedule_id', (p_schedule).schedule_id, 'account_id', v_account, 'region', (p_schedule).region,
            'group_name', (p_schedule).group_name, 'name', (p_schedule).name, 'target', v_target)), p_trace)
    returning * into v_notice;
    insert into queue.outgoing_delivery (notice_id, account_id, endpoint, raw, retry_policy, dead_letter_arn)
    values (v_notice.notice_id, v_account, p_function, true, jsonb_build_object(
            'MaximumRetryAttempts',
            greatest(0, coalesce((v_target -> 'RetryPolicy' ->> 'MaximumRetryAttempts')::int, 185) - p_attempt + 1),
            'Until', ceil(extract(epoch from p_at)) + queue.schedule_window(p_schedule)
                + coalesce((v_target -> 'RetryPolicy' ->> 'MaximumEventAgeInSeconds')::int, 86400)),
        v_target -> 'DeadLetterConfig' ->> 'Arn');
    perform queue.wake_deliveries();
    return jsonb_build_array(jsonb_build_object('queue_name', null, 'msg_id', null, 'message_id', v_notice.message_id));
end $$;
