-- queue.list_schedule_page: returns an account's schedules in a region, in the order of group and name.
--   `p_group`, `p_name_prefix` and `p_status` restrict the result to matching schedules. Null means any schedule.
--   `p_target_kind` is queue, topic or (Lambda) function, or null for any kind.
--   `p_api` is rest or aws, or null for both.
--   `p_after_group` and `p_after_name` restrict the result to schedules after this group and name.
-- Returns the database's time, and each schedule as JSON by column. Uses the index
-- schedule_account_id_region_group_name_name_key. This file also contains list_troubled_schedules.
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

-- queue.list_troubled_schedules: returns up to p_limit schedules that fail, in the order of group and name, and then
-- those that have been due for more than p_late seconds, the most overdue first. `p_group`, `p_name_prefix` and
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
    select v_now, to_jsonb(t) from (
        (select s.* from queue.schedule s
         where s.account_id = p_account_id and s.region = p_region and s.consecutive_failures > 0
             and (p_group is null or s.group_name = p_group)
             and (p_name_prefix is null or starts_with(s.name, p_name_prefix))
             and (p_status is null or s.status = p_status)
         order by s.group_name, s.name limit p_limit)
        union all
        (select s.* from queue.schedule s
         where s.account_id = p_account_id and s.region = p_region and s.status = 'active' and s.due_at < v_late
             and s.consecutive_failures = 0
             and (p_group is null or s.group_name = p_group)
             and (p_name_prefix is null or starts_with(s.name, p_name_prefix))
             and (p_status is null or s.status = p_status)
         order by s.due_at limit p_limit)) t
    limit p_limit;
end $$;
