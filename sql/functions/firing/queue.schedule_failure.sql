-- queue.schedule_failure: returns the message attributes of a failed invocation in a dead-letter queue, in SQS's
-- format. "Configuring a schedule's dead-letter queue" (EventBridge Scheduler User Guide) lists the attributes.
create or replace function queue.schedule_failure(
    p_schedule queue.schedule, p_at timestamptz, p_retries int, p_code text, p_error text, p_exhausted text)
returns jsonb
language sql stable as $$
select queue.as_attributes(jsonb_build_object(
    'ERROR_CODE', p_code,
    'ERROR_MESSAGE', p_error,
    'EXECUTION_ID', queue.execution_id((p_schedule).schedule_id, p_at, p_retries + 1),
    'EXHAUSTED_RETRY_CONDITION', p_exhausted,
    'IS_PAYLOAD_TRUNCATED', 'false',
    'RETRY_ATTEMPTS', p_retries::text,
    'SCHEDULED_TIME', queue.schedule_time(p_at),
    'SCHEDULE_ARN', queue.schedule_arn(p_schedule),
    'TARGET_ARN', (p_schedule).target ->> 'Arn'))
$$;
