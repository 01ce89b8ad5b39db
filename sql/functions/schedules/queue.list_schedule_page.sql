-- queue.list_schedule_page: returns an account's schedules in a region, in the order of group and name.
--   `p_group`, `p_name_prefix` and `p_status` restrict the result to matching schedules. Null means any schedule.
--   `p_target_kind` is queue, topic or (Lambda) function, or null for any kind.
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
