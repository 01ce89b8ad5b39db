-- queue.invoke_queue(schedule, occurrence, attempt): sends the schedule's input to the queue that its target names by
-- ARN. Returns and raises as send_scheduled. Called by: dispatch_schedule.
create or replace function queue.invoke_queue(p_schedule queue.schedule, p_at timestamptz, p_attempt int) returns jsonb
language sql volatile as $$
select queue.send_scheduled((p_schedule).target ->> 'Arn', queue.schedule_input(p_schedule, p_at, p_attempt), null,
    (p_schedule).target -> 'SqsParameters' ->> 'MessageGroupId', null)
$$;
