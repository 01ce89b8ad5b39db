-- When schedules fire, and how many may fire now.

-- queue.schedule_due_at: returns the time at which an occurrence fires if it can be up to p_seconds late. Returns the
-- same time in every call for an occurrence. The times of many occurrences are spread evenly over milliseconds.
create or replace function queue.schedule_due_at(p_schedule_id bigint, p_at timestamptz, p_seconds int)
returns timestamptz
language sql immutable parallel safe
return p_at + case when p_seconds > 0 then interval '1 millisecond' * mod(
    -- The mask removes the sign of the hash.
    hashint8extended(p_schedule_id, extract(epoch from p_at)::bigint) & 9223372036854775807, p_seconds * 1000::bigint)
    else '0' end;

-- queue.schedule_window: returns how many seconds late an occurrence can fire because of jitter or a flexible window.
create or replace function queue.schedule_window(p_schedule queue.schedule) returns int
language sql immutable parallel safe
return (p_schedule).jitter_seconds + 60 * coalesce((p_schedule).window_minutes, 0);

-- queue.firing_capacity: returns how many of an account's schedules or retries can fire now, at most p_limit. An
-- account then fires about p_per_second times in any second. A p_per_second of 0 means no maximum. Does not count
-- batches that other workers fire at the same time. Uses the index recent_firing_account.
create or replace function queue.firing_capacity(p_account_id text, p_per_second int, p_limit int) returns int
language sql volatile
return case when p_per_second = 0 then p_limit else least(p_limit, greatest(0, p_per_second - coalesce((
    select sum(f.number) from queue.recent_firing f
    where f.account_id = p_account_id and f.fired_at > (select clock_timestamp()) - interval '1 second'), 0)))::int end;

-- queue.next_schedule: returns the milliseconds until the next schedule and the next retry are due. A 0 means now, and
-- null means never. `schedule_ms` is also 0 while a run is recorded in the future (queue.rewind_schedules). Uses the
-- indexes schedule_due, schedule_retry_due and schedule_run_recorded_at.
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
