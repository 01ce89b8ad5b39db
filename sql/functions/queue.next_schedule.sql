-- queue.next_schedule(): milliseconds until a schedule is to be fired, and until a failed invocation is to be tried again
-- (0: now; null: never). Index: schedule_due, schedule_retry_due. Called by: the worker `fire`.
create or replace function queue.next_schedule() returns table (schedule_ms int, retry_ms int)
language sql volatile as $$
select least(3600000, greatest(0, ceil(extract(epoch from n.schedule_at - clock_timestamp()) * 1000)))::int,
    least(3600000, greatest(0, ceil(extract(epoch from n.retry_at - clock_timestamp()) * 1000)))::int
from (select
    (select s.due_at from queue.schedule s where s.status = 'active' order by s.due_at limit 1) as schedule_at,
    (select r.due_at from queue.schedule_retry r order by r.due_at limit 1) as retry_at) n
$$;
