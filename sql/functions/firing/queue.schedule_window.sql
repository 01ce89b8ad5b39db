-- queue.schedule_window: returns how many seconds late an occurrence can fire because of jitter or a flexible window.
create or replace function queue.schedule_window(p_schedule queue.schedule) returns int
language sql immutable parallel safe
return (p_schedule).jitter_seconds + 60 * coalesce((p_schedule).window_minutes, 0);
