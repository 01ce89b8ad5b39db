-- queue.schedule_time: returns a time in the format of schedules, in UTC to the second. An example is
-- `2026-01-02T03:04:05Z`.
create or replace function queue.schedule_time(p_at timestamptz) returns text
language sql immutable parallel safe
return to_char(p_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');
