-- queue.schedule_overlaps(schedule): whether a message that the schedule's last run sent is still in its queue, waiting
-- or in flight. Messages to a topic of SNS do not count. Index: schedule_run_schedule.
create or replace function queue.schedule_overlaps(p_schedule queue.schedule) returns boolean
language sql stable as $$
select exists (
    select from (
        select r.message_ids from queue.schedule_run r
        where r.schedule_id = p_schedule.schedule_id and r.fired_at is not null
        order by r.run_id desc limit 1) last
    cross join jsonb_array_elements(last.message_ids) m
    join queue.queues q on q.account_id = p_schedule.account_id and q.region = p_schedule.region
        and q.name = m.value ->> 'queue_name'
    where queue.message_exists(q.queue_id, (m.value ->> 'msg_id')::bigint))
$$;
