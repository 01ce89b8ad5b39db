-- queue.sync_schedules: writes many schedules of the group `default`, as put_schedule does with `replace`. If p_prune
-- is true, deletes schedules of the REST API with other names, except those that send_later created.
--   `n` is the position of the schedule, from 1. Null means that the schedule was deleted.
--   `schedule` is the schedule as JSON by column.
--   `changed` is false if the schedule was equal before.
-- Locks the schedules in the order of names.
-- This file also contains list_prunable_schedules.
create or replace function queue.sync_schedules(
    p_account_id text, p_region text, p_names text[], p_fields jsonb[], p_next_fire_at timestamptz[], p_prune boolean)
returns table (n int, schedule jsonb, created boolean, changed boolean)
language plpgsql as $$
#variable_conflict use_column
declare
    v_entry record;
    v_now timestamptz := clock_timestamp();
begin
    if p_prune then
        perform from queue.schedule s
        where s.account_id = p_account_id and s.region = p_region and s.group_name = 'default' and s.api = 'rest'
        order by s.name for update;
        return query
        delete from queue.schedule s
        where s.account_id = p_account_id and s.region = p_region and s.group_name = 'default' and s.api = 'rest'
            and s.name <> all (p_names) and not s.target ? 'system'
        returning null::int, to_jsonb(s), false, true;
    end if;
    for v_entry in
        select u.* from unnest(p_names, p_fields, p_next_fire_at) with ordinality u(name, fields, next_fire_at, n)
        order by u.name
    loop
        return query select v_entry.n::int, p.schedule, p.created, (p.schedule ->> 'updated_at')::timestamptz >= v_now
        from queue.put_schedule(
            p_account_id => p_account_id, p_region => p_region, p_group => 'default', p_name => v_entry.name,
            p_mode => 'replace', p_fields => v_entry.fields, p_next_fire_at => v_entry.next_fire_at) p;
    end loop;
end $$;

-- queue.list_prunable_schedules: returns the names of schedules that sync_schedules can delete, in the order of names.
--   `p_after` restricts the result to later names.
-- Uses the index schedule_account_id_region_group_name_name_key.
create or replace function queue.list_prunable_schedules(
    p_account_id text, p_region text, p_after text, p_limit int)
returns table (name text)
language sql stable as $$
select s.name from queue.schedule s
where s.account_id = p_account_id and s.region = p_region and s.group_name = 'default' and s.api = 'rest'
    and not s.target ? 'system' and s.name > p_after
order by s.name
limit p_limit
$$;
