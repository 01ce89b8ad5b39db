-- Lists of schedules, runs and future times.

-- queue.list_schedule_page: returns an account's schedules in a region, in the order of group and name.
--   `p_group`, `p_name_prefix` and `p_status` restrict the result to matching schedules. Null means any schedule.
--   `p_target_kind` is queue, topic, (Lambda) function or (event) bus, or null for any kind.
--   `p_api` is rest or aws, or null for both.
--   `p_after_group` and `p_after_name` restrict the result to schedules after this group and name.
-- Returns the database's time, and each schedule as JSON by column. Uses the index
-- schedule_account_id_region_group_name_name_key.
create or replace function queue.list_schedule_page(
    p_account_id text, p_region text, p_group text, p_name_prefix text, p_status text, p_target_kind text, p_api text,
    p_after_group text, p_after_name text, p_limit int)
returns table (now timestamptz, schedule jsonb)
language sql volatile as $$
select clock_timestamp(), to_jsonb(s) from queue.schedule s
where s.account_id = p_account_id and s.region = p_region
    and (p_group is null or s.group_name = p_group)
    and (p_name_prefix is null or starts_with(s.name, p_name_prefix))
    and (p_status is null or s.status = p_status)
    and (p_target_kind is null or p_target_kind = queue.target_kind(s.target))
    and (p_api is null or s.api = p_api)
    and (s.group_name, s.name) > (coalesce(p_after_group, ''), coalesce(p_after_name, ''))
order by s.group_name, s.name
limit p_limit
$$;

-- queue.list_troubled_schedules: returns up to p_limit schedules in trouble. The first ones are paused after failures,
-- the next ones have been due for more than p_late seconds, the most overdue first, and the last ones fail and are
-- active. The others are in the order of group and name. `p_group`, `p_name_prefix` and
-- `p_status` restrict the result as in list_schedule_page. Uses the indexes schedule_account_failing and
-- schedule_account_due.
create or replace function queue.list_troubled_schedules(
    p_account_id text, p_region text, p_group text, p_name_prefix text, p_status text, p_late double precision,
    p_limit int)
returns table (now timestamptz, schedule jsonb)
language plpgsql stable as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_late timestamptz := v_now - p_late * interval '1 second';
begin
    return query
    select v_now, to_jsonb(t.s) from (
        (select s, case when s.status = 'active' then 3 else 1 end as rank from queue.schedule s
         where s.account_id = p_account_id and s.region = p_region and s.consecutive_failures > 0
             and (p_group is null or s.group_name = p_group)
             and (p_name_prefix is null or starts_with(s.name, p_name_prefix))
             and (p_status is null or s.status = p_status)
         order by rank, s.group_name, s.name limit p_limit)
        union all
        (select s, 2 from queue.schedule s
         where s.account_id = p_account_id and s.region = p_region and s.status = 'active' and s.due_at < v_late
             and s.consecutive_failures = 0
             and (p_group is null or s.group_name = p_group)
             and (p_name_prefix is null or starts_with(s.name, p_name_prefix))
             and (p_status is null or s.status = p_status)
         order by s.due_at limit p_limit)) t
    order by t.rank, case when t.rank = 2 then (t.s).due_at end, (t.s).group_name, (t.s).name
    limit p_limit;
end $$;

-- queue.list_schedule_runs: returns the outcomes of a schedule's occurrences, the newest first.
--   `p_before` restricts the result to smaller run ids, and null means all ids.
--   `fired_at` is null if the occurrence failed or was skipped. A failed occurrence can still be retried. `error` has
--     the reason.
-- If the schedule has no runs, the result is a row without a run_id. If the schedule does not exist, the result has no
-- row. Uses the index schedule_run_schedule.
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

-- queue.read_calendar: returns the active schedules of a group that fire before p_until. Schedules that fire at the
-- same times share a row. The rows are in the order of their first times. Reads the 10,000 schedules of the account
-- that are due first.
--   `schedules` is the number of schedules in the row.
--   `names` contains the first three of these schedules.
--   `next_fire_at` is the earliest next occurrence of these schedules.
--   `late` is the number of these schedules that have been due for more than a minute.
--   `looked_at` is the number of the account's schedules that the function read. Each row has the same number.
--   `expressions` is the number of rows without p_limit. Each row has the same number.
-- Uses the index schedule_account_due.
create or replace function queue.read_calendar(
    p_account_id text, p_region text, p_group text, p_until timestamptz, p_limit int)
returns table (expression_kind text, expression text, canonical text, timezone text, anchor_at timestamptz,
    end_at timestamptz,
    schedules bigint, names text[], next_fire_at timestamptz, late bigint, looked_at bigint, expressions bigint,
    read_at timestamptz)
language sql stable set jit = off as $$
with looked as materialized (
    select s.region, s.group_name, s.name, s.expression_kind, s.expression, s.canonical, s.timezone, s.anchor_at,
        s.end_at, s.next_fire_at, s.due_at
    from queue.schedule s
    where s.account_id = p_account_id and s.status = 'active'
    order by s.due_at limit 10000),
alike as (
    select s.expression_kind, min(s.expression) as expression, s.canonical, s.timezone,
        case when s.expression_kind = 'rate' then date_trunc('second', s.anchor_at) end as anchor_at,
        case when s.end_at < p_until then s.end_at end as end_at,
        count(*) as schedules, (array_agg(s.name order by s.name))[:3] as names, min(s.next_fire_at) as next_fire_at,
        count(*) filter (where s.due_at < (select clock_timestamp()) - interval '1 minute') as late
    from looked s
    where s.region = p_region and s.group_name = p_group and s.next_fire_at < p_until
    group by s.expression_kind, s.canonical, s.timezone, 5, 6)
select a.*, (select count(*) from looked), count(*) over (), clock_timestamp()
from alike a
order by a.next_fire_at, a.names
limit p_limit
$$;
