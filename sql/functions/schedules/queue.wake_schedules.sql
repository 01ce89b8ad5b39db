-- queue.wake_schedules(due_at): at commit, notifies the workers that fire schedules, unless another schedule is due
-- earlier: the workers wake up for that schedule anyway. Costs one index probe. Index: schedule_due.
create or replace function queue.wake_schedules(p_due_at timestamptz) returns void
language plpgsql as $$
begin
    if not exists (
        select from queue.schedule s
        where s.status = 'active' and s.due_at > clock_timestamp() and s.due_at < p_due_at)
    then
        perform queue.notify_processes('schedules');
    end if;
end $$;
