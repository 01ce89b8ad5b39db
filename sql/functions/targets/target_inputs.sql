-- What a schedule sends to its target.

-- queue.execution_id: returns 16 hexadecimal digits that name an attempt to invoke a target.
create or replace function queue.execution_id(p_schedule_id bigint, p_at timestamptz, p_attempt int) returns text
language sql immutable parallel safe
return left(md5(format('%s %s %s', p_schedule_id, extract(epoch from p_at)::bigint, p_attempt)), 16);

-- queue.is_universal_target: returns whether a target of EventBridge Scheduler is a call, whose Input is the request.
create or replace function queue.is_universal_target(p_target jsonb) returns boolean
language sql immutable parallel safe
return coalesce(p_target ->> 'Arn' like 'arn:aws:scheduler:::aws-sdk:%', false);

-- queue.function_input: returns the event with which a schedule invokes a Lambda function. Each attempt has a different
-- number and execution-id. `p_attempt` is the attempt of the delivery, from 1. Attempts to store the delivery
-- (queue.fire_schedule_retries) also count. The event of a universal target is the Payload in its Input, or an empty
-- object.
create or replace function queue.function_input(p_notice queue.notice, p_attempt int) returns text
language sql stable as $$
select case when queue.is_universal_target((p_notice).schedule -> 'schedule' -> 'target')
    then coalesce(i.input::json ->> 'Payload', '{}') else i.input end
from (select queue.schedule_input(jsonb_populate_record(null::queue.schedule, (p_notice).schedule -> 'schedule'),
    ((p_notice).schedule ->> 'at')::timestamptz, ((p_notice).schedule ->> 'earlier_attempts')::int + p_attempt)
    as input) i
$$;

-- queue.schedule_arn: returns the schedule's ARN in the format of EventBridge Scheduler.
create or replace function queue.schedule_arn(p_schedule queue.schedule) returns text
language sql immutable parallel safe
return format('arn:aws:scheduler:%s:%s:schedule/%s/%s', (p_schedule).region, (p_schedule).account_id,
    (p_schedule).group_name, (p_schedule).name);

-- queue.schedule_input: returns the text that EventBridge Scheduler passes to a target. The text is Input with its
-- context attributes replaced, or the default notification. Each attempt has a different `execution-id`. "Adding
-- context attributes" (EventBridge Scheduler User Guide) and Target (API Reference) describe the text.
create or replace function queue.schedule_input(p_schedule queue.schedule, p_at timestamptz, p_attempt int) returns text
language sql immutable parallel safe as $$
select case when (p_schedule).target ->> 'Input' is not null then
    replace(replace(replace(replace((p_schedule).target ->> 'Input',
        '<aws.scheduler.schedule-arn>', queue.schedule_arn(p_schedule)),
        '<aws.scheduler.scheduled-time>', queue.schedule_time(p_at)),
        '<aws.scheduler.execution-id>', queue.execution_id((p_schedule).schedule_id, p_at, p_attempt)),
        '<aws.scheduler.attempt-number>', p_attempt::text)
    else json_build_object('version', '0', 'id', queue.execution_id((p_schedule).schedule_id, p_at, p_attempt),
        'detail-type', 'Scheduled Event', 'source', 'aws.scheduler', 'account', (p_schedule).account_id,
        'time', queue.schedule_time(p_at), 'region', (p_schedule).region,
        'resources', json_build_array(queue.schedule_arn(p_schedule)), 'detail', '{}')::text end
$$;

-- queue.schedule_inputs: returns the position n and the text for the target of each occurrence (schedule_input).
create or replace function queue.schedule_inputs(p_schedule_ids bigint[], p_at timestamptz[])
returns table (n int, input text)
language sql stable as $$
select u.n::int, queue.schedule_input(s, u.at, 1)
from unnest(p_schedule_ids, p_at) with ordinality u(schedule_id, at, n)
join queue.schedule s on s.schedule_id = u.schedule_id
order by u.n
$$;

-- queue.schedule_message: returns the message of a schedule of the REST API.
--   `body` is the text.
--   `attributes` has SQS's format, with `_schedule` unless the message comes from send_later.
--   `size` is the number of bytes of body and attributes.
-- The target of a schedule of the REST API is {"queue" | "topic", "body", "attributes", "facts"}. `facts` contains the
-- values that filter policies compare. The target of a schedule of the SQL interface is {"queue" | "topic", "message",
-- "headers"}.
create or replace function queue.schedule_message(p_schedule queue.schedule, p_at timestamptz, p_out_of_band boolean)
returns table (body text, attributes jsonb, size int)
language sql stable as $$
select m.body, m.attributes, queue.message_size(m.body, m.attributes)
from (
    select coalesce(t.target ->> 'body', (t.target -> 'message')::text) as body,
        coalesce(t.target -> 'attributes', queue.as_attributes(nullif(t.target -> 'headers', 'null')), '{}')
            || case when t.target ? 'system' then '{}'
                else queue.as_attributes(jsonb_build_object('_schedule', jsonb_build_object('name', p_schedule.name,
                'scheduled_for', queue.schedule_time(p_at), 'out_of_band', p_out_of_band))) end as attributes
    from (select p_schedule.target as target) t) m
$$;

-- queue.schedule_time: returns a time in the format of schedules, in UTC to the second. An example is
-- `2026-01-02T03:04:05Z`.
create or replace function queue.schedule_time(p_at timestamptz) returns text
language sql immutable parallel safe
return to_char(p_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');

-- queue.target_kind: returns the kind of a schedule's target in both APIs. The kind is queue, topic, (Lambda) function
-- or (event) bus, or null if the kind is unknown. The ARN of a universal target names the service after `aws-sdk`.
create or replace function queue.target_kind(p_target jsonb) returns text
language sql immutable parallel safe
return case
    when p_target ? 'queue' then 'queue'
    when p_target ? 'topic' then 'topic'
    else case split_part(p_target ->> 'Arn', ':', case when queue.is_universal_target(p_target) then 7 else 3 end)
        when 'sqs' then 'queue' when 'sns' then 'topic' when 'lambda' then 'function' when 'events' then 'bus' end
end;

-- queue.needs_built_message: returns whether the caller of dispatch_schedule builds the message for a target
-- (scheduler/firing/target_messages.py): for a topic of SNS, a bus, or a universal target.
create or replace function queue.needs_built_message(p_target jsonb) returns boolean
language sql immutable parallel safe
return p_target ? 'Arn' and (queue.is_universal_target(p_target) or queue.target_kind(p_target) in ('topic', 'bus'));
