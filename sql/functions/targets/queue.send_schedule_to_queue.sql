-- queue.send_schedule_to_queue(schedule, occurrence, attempt, trace header): sends the schedule's input to the queue
-- that its target names by ARN. Returns and raises as send_scheduled. Called by: dispatch_schedule.
drop function if exists queue.invoke_queue(queue.schedule, timestamptz, int, text);
create or replace function queue.send_schedule_to_queue(p_schedule queue.schedule, p_at timestamptz, p_attempt int, p_trace text default null) returns jsonb
language sql volatile as $$
select queue.send_scheduled((p_schedule).target ->> 'Arn', queue.schedule_input(p_schedule, p_at, p_attempt), null,
    (p_schedule).target -> 'SqsParameters' ->> 'MessageGroupId', null, p_trace)
$$;
