-- queue.next_schedule: returns the milliseconds until the next schedule and the next retry are due. A 0 means now, and
-- null means never. `schedule_ms` is also 0 while a run is recorded in the future (queue.rewind_schedules). Uses the
-- indexes schedule_due, schedule_retry_due and schedule_run_recorded_at.
-- This file also contains next_later_schedule.
create or replace function queue.next_schedule() returns table (schedule_ms int, retry_ms int)
language sql volatile as $$
select
    -- Each result is at most an hour.
    case when exists (select from queue.schedule_run r where r.recorded_at > now() + interval '10 seconds') then 0
    else (select least(3600000, greatest(0, ceil(extract(epoch from s.due_at - clock_timestamp()) * 1000)))::int
     from queue.schedule s where s.status = 'active' and s.due_at is not null order by s.due_at limit 1) end,
    (select least(3600000, greatest(0, ceil(extract(epoch from r.due_at - clock_timestamp()) * 1000)))::int
     from queue.schedule_retry r order by r.due_at limit 1)
$$;

-- queue.next_later_schedule: returns the milliseconds until the next schedule or retry becomes due, or null for never.
-- Schedules and retries that are already due do not count. Due schedules and retries that are still waiting cannot fire
-- now, because they are locked or their account fires too often. Uses the indexes schedule_due and schedule_retry_due.
create or replace function queue.next_later_schedule() returns table (ms int)
language sql volatile as $$
select case when d.seconds is not null then least(3600000, ceil(d.seconds * 1000))::int end
from (select clock_timestamp() as now) n
cross join lateral (select extract(epoch from least(
    (select s.due_at from queue.schedule s where s.status = 'active' and s.due_at > n.now order by s.due_at limit 1),
    (select r.due_at from queue.schedule_retry r where r.due_at > n.now order by r.due_at limit 1)) - n.now)
    as seconds) d
$$;
