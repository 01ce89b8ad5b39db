-- queue.wake_schedules: notifies, at commit, the workers that fire schedules. Does nothing if another schedule is due
-- earlier, because the workers wake up for that schedule. Costs one index probe.
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
