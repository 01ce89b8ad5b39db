-- queue.list_schedule_runs: returns the outcomes of a schedule's occurrences, the newest first.
--   `p_before` restricts the result to smaller run ids, and null means all ids.
--   `fired_at` is null if the occurrence failed or was skipped. A failed occurrence can still be retried. `error` has
--     the reason.
-- If the schedule has no runs, the result is a row without a run_id. If the schedule does not exist, the result has no
-- row. Uses the index schedule_run_schedule.
-- This file also contains list_missed_runs.
create or replace function queue.list_schedule_runs(
    p_account_id text, p_region text, p_group text, p_name text, p_before bigint, p_limit int)
returns table (run_id bigint, scheduled_for timestamptz, out_of_band boolean, attempts int, fired_at timestamptz,
    message_ids jsonb, error text)
language sql stable as $$
select r.run_id, r.scheduled_for, r.out_of_band, r.attempts, r.fired_at, r.message_ids, r.error
from queue.schedule s
left join lateral (
    select * from queue.schedule_run r
    where r.schedule_id = s.schedule_id and r.run_id < coalesce(p_before, 9223372036854775807)
    order by r.run_id desc limit p_limit) r on true
where s.account_id = p_account_id and s.region = p_region and s.group_name = p_group and s.name = p_name
order by r.run_id desc
$$;

-- queue.list_missed_runs: returns the occurrences of a group's schedules in the last seven days that did not fire, the
-- newest first. The occurrences were skipped, or failed and can still be retried. `error` has the reason. Reads the
-- newest 10,000 runs of the installation.
create or replace function queue.list_missed_runs(p_account_id text, p_region text, p_group text, p_limit int)
returns table (name text, scheduled_for timestamptz, attempts int, error text, recorded_at timestamptz)
language sql stable as $$
select s.name, r.scheduled_for, r.attempts, r.error, r.recorded_at
from (select * from queue.schedule_run x order by x.run_id desc limit 10000) r
join queue.schedule s on s.schedule_id = r.schedule_id
where r.fired_at is null and r.recorded_at > (select clock_timestamp()) - interval '7 days'
    and s.account_id = p_account_id and s.region = p_region and s.group_name = p_group
order by r.run_id desc limit p_limit
$$;
