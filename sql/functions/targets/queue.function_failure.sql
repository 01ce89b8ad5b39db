-- queue.function_failure(delivery, notice): the attributes with which the invocation of a function by a schedule goes to the
-- dead-letter queue. The error's code stands before the colon of the last error.
create or replace function queue.function_failure(p_delivery queue.outgoing_delivery, p_notice queue.notice) returns jsonb
language sql stable as $$
select queue.schedule_failure(jsonb_populate_record(null::queue.schedule, n.headers -> 'schedule'), (n.headers ->> 'at')::timestamptz,
    greatest(0, (n.headers ->> 'earlier_attempts')::int + w.attempts - 1), coalesce(substring(w.last_error from '^([A-Za-z]+):'), 'ServiceException'),
    coalesce(w.last_error, ''), case when w.attempts > (w.subscription_policy::jsonb ->> 'MaximumRetryAttempts')::int
        then 'MaximumRetryAttempts' else 'MaximumEventAgeInSeconds' end)
from (select (p_notice).*) n, (select (p_delivery).*) w
$$;
