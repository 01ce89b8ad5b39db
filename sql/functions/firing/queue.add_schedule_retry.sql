-- queue.add_schedule_retry(schedule, occurrence, error's code, error): stores a failed invocation, to be retried as the
-- schedule's RetryPolicy says, and returns it. The invocation's age counts from the end of the flexible window.
create or replace function queue.add_schedule_retry(
    p_schedule queue.schedule, p_at timestamptz, p_code text, p_error text)
returns queue.schedule_retry
language plpgsql as $$
declare
    v_retry queue.schedule_retry;
begin
    insert into queue.schedule_retry (schedule_id, account_id, region, group_name, name, target, scheduled_for,
        expires_at, due_at, error_code, error)
    values (p_schedule.schedule_id, p_schedule.account_id, p_schedule.region, p_schedule.group_name, p_schedule.name,
        p_schedule.target, p_at, p_at + interval '1 second' * (queue.schedule_window(p_schedule)
            + coalesce((p_schedule.target -> 'RetryPolicy' ->> 'MaximumEventAgeInSeconds')::int, 86400)),
        clock_timestamp() + interval '1 second', p_code, p_error)
    returning * into v_retry;
    return v_retry;
end $$;
