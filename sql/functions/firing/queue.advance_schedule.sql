-- queue.advance_schedule(schedule, next occurrence, note, fired, failed): stores a schedule's next occurrence after
-- earlier ones have been fired, and their outcomes. Without a next occurrence a native one-shot is deleted and another
-- native schedule is paused; a schedule of EventBridge Scheduler is deleted when its ActionAfterCompletion is DELETE,
-- otherwise it stays.
-- Locks: the schedule.
create or replace function queue.advance_schedule(
    p_schedule_id bigint, p_next_fire_at timestamptz, p_note text, p_fired int, p_failed int) returns void
language plpgsql as $$
begin
    if p_next_fire_at is null then
        delete from queue.schedule s
        where s.schedule_id = p_schedule_id
            and case when s.door = 'native' then s.form = 'fire_at'
                else coalesce(s.action_after_completion = 'DELETE', false) end;
        if found then
            return;
        end if;
    end if;
    update queue.schedule s
    set next_fire_at = p_next_fire_at,
        due_at = queue.schedule_due_at(s.schedule_id, p_next_fire_at, queue.schedule_window(s)),
        status = case when p_next_fire_at is null and s.door = 'native' then 'paused' else s.status end,
        last_fired_at = case when p_fired > 0 then clock_timestamp() else s.last_fired_at end,
        fire_count = s.fire_count + p_fired,
        consecutive_failures = case when p_failed > 0 then s.consecutive_failures + p_failed
            when p_fired > 0 then 0 else s.consecutive_failures end,
        last_error = case when p_note is not null then p_note
            when p_next_fire_at is null and s.door = 'native' then 'no future occurrence'
            when p_failed > 0 then (
                select r.error from queue.schedule_run r
                where r.schedule_id = p_schedule_id and r.error is not null order by r.run_id desc limit 1)
            when p_fired > 0 then null else s.last_error end
    where s.schedule_id = p_schedule_id;
end $$;
