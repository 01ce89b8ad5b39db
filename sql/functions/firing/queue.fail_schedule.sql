-- queue.fail_schedule(schedule, occurrence, error): records that a native schedule's target refused an occurrence,
-- which is tried again after 1, 2, 4, … 60 seconds; at the failure_threshold the schedule is paused.
-- Locks: the schedule.
create or replace function queue.fail_schedule(p_schedule queue.schedule, p_at timestamptz, p_error text) returns void
language plpgsql as $$
declare
    v_failures int := p_schedule.consecutive_failures + 1;
begin
    insert into queue.schedule_run as r (schedule_id, scheduled_for, error)
    values (p_schedule.schedule_id, p_at, p_error)
    on conflict (schedule_id, scheduled_for) where not out_of_band do update
    set attempts = r.attempts + 1, error = excluded.error, recorded_at = excluded.recorded_at
    where r.fired_at is null;
    update queue.schedule s
    set consecutive_failures = v_failures, last_error = p_error,
        status = case when v_failures >= s.failure_threshold then 'paused' else s.status end,
        due_at = clock_timestamp() + least(60, power(2, least(v_failures, 10) - 1)) * interval '1 second'
    where s.schedule_id = p_schedule.schedule_id;
end $$;
