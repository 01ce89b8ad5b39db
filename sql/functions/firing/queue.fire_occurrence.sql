-- queue.fire_occurrence(schedule, occurrence, topic message): sends a schedule's message for one of its times, once: an
-- occurrence has one row in schedule_run, so a second run raises an error, which undoes its messages too.
-- Returns fired, skipped (overlap, or it had fired before), failed (EventBridge Scheduler's: it is retried).
-- Raises as dispatch_schedule, but QU006 for native schedules only. Locks: those of dispatch_schedule.
-- Index: schedule_run_once. Called by: fire_schedules.
do $$ begin     -- `create or replace` cannot rename the parameters that the previous release gave it
    if 'p_letter' = any ((
        select proargnames from pg_proc where oid = to_regprocedure('queue.fire_occurrence(queue.schedule, timestamptz, jsonb)'))::text[])
    then
        drop function queue.fire_occurrence(queue.schedule, timestamptz, jsonb);
    end if;
end $$;
create or replace function queue.fire_occurrence(p_schedule queue.schedule, p_at timestamptz, p_topic_message jsonb)
returns text
language plpgsql as $$
declare
    v_ids jsonb;
    v_code text;
    v_error text;
begin
    if exists (
        select from queue.schedule_run r
        where r.schedule_id = p_schedule.schedule_id and r.scheduled_for = p_at and not r.out_of_band
            and r.fired_at is not null)
    then
        return 'skipped';
    end if;
    if p_schedule.overlap = 'skip' and queue.schedule_overlaps(p_schedule) then
        v_error := 'skipped: what an earlier run sent is still there';
    else
        begin
            v_ids := queue.dispatch_schedule(p_schedule, p_at, false, 1, p_topic_message);
        exception when others then
            if p_schedule.door = 'native' or sqlstate in ('QU007', '55P03') or queue.is_server_error(sqlstate) then
                raise;
            end if;
            get stacked diagnostics v_code = pg_exception_detail;
            v_code := coalesce(nullif(v_code, ''), 'InternalError');
            v_error := queue.failure_text(sqlstate, sqlerrm);
        end;
    end if;
    insert into queue.schedule_run as r (schedule_id, scheduled_for, fired_at, message_ids, error)
    values (p_schedule.schedule_id, p_at, case when v_error is null then clock_timestamp() end, coalesce(v_ids, '[]'),
        v_error)
    on conflict (schedule_id, scheduled_for) where not out_of_band do update
    set attempts = r.attempts + 1, fired_at = excluded.fired_at, message_ids = excluded.message_ids,
        error = excluded.error, recorded_at = excluded.recorded_at
    where r.fired_at is null;
    if not found then
        raise exception 'this occurrence has fired before' using errcode = 'QU008';
    elsif v_code is not null then
        perform queue.add_schedule_retry(p_schedule, p_at, v_code, v_error);
        return 'failed';
    end if;
    return case when v_error is null then 'fired' else 'skipped' end;
end $$;
