-- queue.drop_schedule_group(account, region, name): deletes a group with its schedules and their pending retries in one
-- transaction, so the state DELETING is never seen. The caller refuses the group `default`.
-- Returns one row: whether there was one, and how many schedules were deleted. Locks: the group, its schedules.
create or replace function queue.drop_schedule_group(p_account_id text, p_region text, p_name text)
returns table (dropped boolean, schedules bigint)
language plpgsql as $$
declare
    v_dropped boolean;
    v_schedules bigint;
begin
    delete from queue.schedule_group g
    where g.account_id = p_account_id and g.region = p_region and g.name = p_name and g.name <> 'default';
    v_dropped := found;
    if v_dropped then
        with gone as (
            delete from queue.schedule s
            where s.account_id = p_account_id and s.region = p_region and s.group_name = p_name
            returning s.schedule_id),
        given_up as (
            delete from queue.schedule_retry r using gone g where r.schedule_id = g.schedule_id)
        select count(*) into v_schedules from gone;
    end if;
    return query select v_dropped, coalesce(v_schedules, 0);
end $$;
