-- queue.drop_schedule_once: deletes a schedule or, with an empty name, a group. A repeated call with the same client
-- token changes nothing, even if a new schedule has the same name. `dropped` says whether the schedule existed before
-- the first call. Takes the locks of drop_schedule or drop_schedule_group.
-- This file also contains drop_schedule_group.
create or replace function queue.drop_schedule_once(
    p_account_id text, p_region text, p_group text, p_name text, p_client_token text)
returns table (dropped boolean)
language plpgsql as $$
#variable_conflict use_column
declare
    v_dropped boolean := false;
begin
    if not exists (
        select from queue.schedule_deletion d
        where d.account_id = p_account_id and d.region = p_region and d.group_name = p_group and d.name = p_name
            and d.client_token = p_client_token)
    then
        if p_name = '' then
            select g.dropped into v_dropped from queue.drop_schedule_group(p_account_id, p_region, p_group) g;
        else
            select s.dropped into v_dropped from queue.drop_schedule(p_account_id, p_region, p_group, p_name) s;
        end if;
        if v_dropped and p_client_token is not null then
            insert into queue.schedule_deletion (account_id, region, group_name, name, client_token)
            values (p_account_id, p_region, p_group, p_name, p_client_token);
        end if;
        -- A concurrent call can have deleted the schedule already. This call has waited for the row, and sees the
        -- deletion only now.
        if v_dropped or p_client_token is null then
            return query select v_dropped;
            return;
        end if;
    end if;
    return query select exists (
        select from queue.schedule_deletion d
        where d.account_id = p_account_id and d.region = p_region and d.group_name = p_group and d.name = p_name
            and d.client_token = p_client_token);
end $$;

-- queue.drop_schedule_group: deletes a group with its schedules and their pending retries. One transaction deletes the
-- group and all its schedules, so no client sees the state DELETING. The caller refuses the group `default`. `dropped`
-- says whether the group existed. `schedules` is the number of deleted schedules. Locks the group and its schedules.
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
