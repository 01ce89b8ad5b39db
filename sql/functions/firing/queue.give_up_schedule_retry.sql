-- queue.give_up_schedule_retry(retry): gives an invocation up when its retries are used up, or when it would be too old
-- at the next retry, and sends it to the dead-letter queue, if there is one. Returns whether it was given up.
-- Sources: RetryPolicy (EventBridge Scheduler API Reference): 0-185 retries, 60-86,400 seconds, the maximum by default.
-- Called by: add_schedule_retry, fire_schedule_retries.
drop function if exists queue.settle_schedule_retry(queue.schedule_retry);
create or replace function queue.give_up_schedule_retry(p_retry queue.schedule_retry) returns boolean
language plpgsql as $$
declare
    v_exhausted text := case
        when p_retry.retries >= coalesce((p_retry.target -> 'RetryPolicy' ->> 'MaximumRetryAttempts')::int, 185)
            then 'MaximumRetryAttempts'
        when p_retry.due_at > p_retry.expires_at then 'MaximumEventAgeInSeconds' end;
begin
    if v_exhausted is null then
        return false;
    end if;
    delete from queue.schedule_retry r where r.retry_id = p_retry.retry_id;
    if p_retry.target -> 'DeadLetterConfig' ->> 'Arn' is not null then
        perform queue.dead_letter_schedule_retry(p_retry, v_exhausted);
    end if;
    return true;
end $$;
