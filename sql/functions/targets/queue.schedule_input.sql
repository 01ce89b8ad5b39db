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
