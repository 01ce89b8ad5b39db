-- queue.run_schedule: fires a schedule now, outside of its times, in this transaction. Also fires paused schedules. The
-- next occurrence of the schedule does not change.
--   `scheduled_for` is now, to the second.
--   `message_ids` has the format of queue.schedule_run.
--   `error` is NotFound or TargetFailed. For TargetFailed, `detail` has the reason, and the function sends nothing.
-- A schedule with an SNS topic as target fails, because a worker has to sign its messages. Locks the schedule.
create or replace function queue.run_schedule(p_account_id text, p_region text, p_group text, p_name text)
returns table (scheduled_for timestamptz, fired_at timestamptz, message_ids jsonb, error text, detail text)
language plpgsql as $$
declare
    v_schedule queue.schedule;
    v_run queue.schedule_run;
begin
    select * into v_schedule from queue.schedule s
    where s.account_id = p_account_id and s.region = p_region and s.group_name = p_group and s.name = p_name
    for no key update;
    if not found then
        return query select null::timestamptz, null::timestamptz, null::jsonb, 'NotFound'::text, null::text;
        return;
    end if;
    v_run := queue.dispatch_schedule(v_schedule, date_trunc('second', clock_timestamp()), true, 1, null);
    update queue.schedule s set last_fired_at = v_run.fired_at, fire_count = s.fire_count + 1
    where s.schedule_id = v_schedule.schedule_id;
    return query select v_run.scheduled_for, v_run.fired_at, v_run.message_ids, null::text, null::text;
exception
    when sqlstate 'QU006' or sqlstate 'QU009' then      -- The target refused the message.
        return query select null::timestamptz, null::timestamptz, null::jsonb, 'TargetFailed'::text, sqlerrm;
    when sqlstate 'QU007' then          -- A worker has to sign the message.
        return query select null::timestamptz, null::timestamptz, null::jsonb, 'TargetFailed'::text,
            'a message to a topic of SNS is signed, which the worker does';
end $$;
