-- queue.give_up_schedule_retry: gives up an invocation if no retries are left, or if the invocation will be too old at
-- the next retry. Returns whether the function gave up the invocation. Sends the invocation to the target's dead-letter
-- queue, with the input as body and the failure as message attributes. If that queue does not exist or refuses the
-- message, the invocation is lost. RetryPolicy allows 0 to 185 retries and 60 to 86,400 seconds, by default the maximum
-- (RetryPolicy, EventBridge Scheduler API Reference). Takes the locks of send_messages.
create or replace function queue.give_up_schedule_retry(p_retry queue.schedule_retry) returns boolean
language plpgsql as $$
declare
    v_exhausted text := case
        when p_retry.retries >= coalesce((p_retry.target -> 'RetryPolicy' ->> 'MaximumRetryAttempts')::int, 185)
            then 'MaximumRetryAttempts'
        when p_retry.due_at > p_retry.expires_at then 'MaximumEventAgeInSeconds' end;
    v_dead_letter_arn text := p_retry.target -> 'DeadLetterConfig' ->> 'Arn';
    v_schedule queue.schedule := jsonb_populate_record(null::queue.schedule, to_jsonb(p_retry));
    v_body text;
    v_attributes jsonb;
begin
    if v_exhausted is null then
        return false;
    end if;
    delete from queue.schedule_retry r where r.retry_id = p_retry.retry_id;
    if v_dead_letter_arn is null then
        return true;
    end if;
    v_body := queue.schedule_input(v_schedule, p_retry.scheduled_for, p_retry.retries + 1);
    v_attributes := queue.schedule_failure(v_schedule, p_retry.scheduled_for, p_retry.retries, p_retry.error_code,
        p_retry.error, v_exhausted);
    perform from queue.send_messages(
        p_queues => array[v_dead_letter_arn], p_message_ids => array[gen_random_uuid()], p_bodies => array[v_body],
        p_sizes => array[queue.message_size(v_body, v_attributes)], p_attributes => array[v_attributes]);
    return true;
end $$;
