-- queue.next_later_schedule(): milliseconds until the next schedule or failed invocation is due that is not due yet; null:
-- none will be. Those that are due and cannot fire now (locked, or their account fires too often) do not count.
-- Index: schedule_due, schedule_retry_due.
create or replace function queue.next_later_schedule() returns table (ms int)
language sql volatile as $$
select case when d.seconds is not null then least(3600000, ceil(d.seconds * 1000))::int end
from (select clock_timestamp() as now) n
cross join lateral (select extract(epoch from least(
    (select s.due_at from queue.schedule s where s.status = 'active' and s.due_at > n.now order by s.due_at limit 1),
    (select r.due_at from queue.schedule_retry r where r.due_at > n.now order by r.due_at limit 1)) - n.now)
    as seconds) d
$$;
