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
    where f.account_id = p_account_id and f.fired_at > clock_timestamp() - interval '1 second'), 0)))::int end;
