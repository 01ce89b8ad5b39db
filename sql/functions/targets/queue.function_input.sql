-- queue.function_input: returns the Input with which a schedule invokes a Lambda function. Each attempt has a different
-- number and execution-id. `p_attempt` is the attempt of the delivery, from 1. Attempts to store the delivery
-- (queue.fire_schedule_retries) also count.
create or replace function queue.function_input(p_notice queue.notice, p_attempt int) returns text
language sql stable as $$
select queue.schedule_input(jsonb_populate_record(null::queue.schedule, (p_notice).headers -> 'schedule'),
    ((p_notice).headers ->> 'at')::timestamptz, ((p_notice).headers ->> 'earlier_attempts')::int + p_attempt)
$$;
