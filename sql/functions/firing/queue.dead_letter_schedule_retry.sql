-- queue.dead_letter_schedule_retry(retry, condition): sends an invocation that was given up to the dead-letter queue of
-- its target: the input as body, and the failure as message attributes. When that queue does not exist, the
-- invocation is lost. Source: "Configuring a schedule's dead-letter queue" (EventBridge Scheduler User Guide).
-- Called by: give_up_schedule_retry.
drop function if exists queue.bury_schedule_retry(queue.schedule_retry, text);
create or replace function queue.dead_letter_schedule_retry(p_retry queue.schedule_retry, p_condition text) returns void
language plpgsql as $$
declare
    v_schedule queue.schedule := jsonb_populate_record(null::queue.schedule, to_jsonb(p_retry));
begin
    perform queue.send_scheduled(p_retry.target -> 'DeadLetterConfig' ->> 'Arn',
        queue.schedule_input(v_schedule, p_retry.scheduled_for, p_retry.retries + 1),
        queue.as_attributes(jsonb_build_object(
            'ERROR_CODE', p_retry.error_code,
            'ERROR_MESSAGE', p_retry.error,
            'EXECUTION_ID', queue.execution_id(p_retry.schedule_id, p_retry.scheduled_for, p_retry.retries + 1),
            'EXHAUSTED_RETRY_CONDITION', p_condition,
            'IS_PAYLOAD_TRUNCATED', 'false',
            'RETRY_ATTEMPTS', p_retry.retries::text,
            'SCHEDULED_TIME', queue.schedule_time(p_retry.scheduled_for),
            'SCHEDULE_ARN', queue.schedule_arn(v_schedule),
            'TARGET_ARN', p_retry.target ->> 'Arn')), null, null);
exception when sqlstate 'QU006' then       -- the dead-letter queue refused the message
    return;
end $$;
