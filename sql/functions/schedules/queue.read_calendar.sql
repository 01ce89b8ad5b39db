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
