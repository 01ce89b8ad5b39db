-- Reads and changes of stored schedules and groups.

-- queue.add_default_group: inserts the row of the schedule group `default` if it is missing. Every account has this
-- group, and the first read inserts the group's row.
create or replace function queue.add_default_group(p_account_id text, p_region text) returns void
language sql as $$
insert into queue.schedule_group (account_id, region, name)
select p_account_id, p_region, 'default'
where not exists (
    select from queue.schedule_group g
    where g.account_id = p_account_id and g.region = p_region and g.name = 'default')
on conflict do nothing
$$;

-- queue.drop_schedule: deletes a schedule and its pending retries. `dropped` says whether the schedule existed. Locks
-- the schedule.
create or replace function queue.drop_schedule(p_account_id text, p_region text, p_group text, p_name text)
returns table (dropped boolean)
language plpgsql as $$
declare
    v_id bigint;
begin
    delete from queue.schedule s
    where s.account_id = p_account_id and s.region = p_region and s.group_name = p_group and s.name = p_name
    returning s.schedule_id into v_id;
    delete from queue.schedule_retry r where r.schedule_id = v_id;
    return query select v_id is not null;
end $$;

-- queue.read_schedule: returns a schedule as JSON by column, or null. `now` is the database's time, from which the
-- caller computes occurrences.
create or replace function queue.read_schedule(p_account_id text, p_region text, p_group text, p_name text)
returns table (now timestamptz, schedule jsonb)
language sql volatile as $$
select clock_timestamp(), (
    select to_jsonb(s) from queue.schedule s
    where s.account_id = p_account_id and s.region = p_region and s.group_name = p_group and s.name = p_name)
$$;

-- queue.wake_schedules: notifies, at commit, the workers that fire schedules. Does nothing if another schedule is due
-- earlier, because the workers wake up for that schedule. Costs one index probe.
create or replace function queue.wake_schedules(p_due_at timestamptz) returns void
language plpgsql as $$
begin
    if not exists (
        select from queue.schedule s
        where s.status = 'active' and s.due_at > (select clock_timestamp()) and s.due_at < p_due_at)
    then
        perform queue.notify_processes('schedules');
    end if;
end $$;

-- queue.tag_schedule_group: adds tags or replaces their values. A group can have at most p_limit tags. `error` is
-- GroupNotFound or TagLimitExceeded.
create or replace function queue.tag_schedule_group(
    p_account_id text, p_region text, p_name text, p_tags jsonb, p_limit int)
returns table (error text)
language plpgsql as $$
declare
    v_count int;
begin
    perform queue.add_default_group(p_account_id, p_region);
    select (select count(*) from jsonb_object_keys(g.tags || p_tags)) into v_count
    from queue.schedule_group g
    where g.account_id = p_account_id and g.region = p_region and g.name = p_name for update;
    if v_count <= p_limit then
        update queue.schedule_group g set tags = g.tags || p_tags, updated_at = clock_timestamp()
        where g.account_id = p_account_id and g.region = p_region and g.name = p_name;
    end if;
    return query select case when v_count is null then 'GroupNotFound'
        when v_count > p_limit then 'TagLimitExceeded' end;
end $$;

-- queue.untag_schedule_group: removes tags. Ignores missing keys. `error` is GroupNotFound or null.
create or replace function queue.untag_schedule_group(p_account_id text, p_region text, p_name text, p_keys text[])
returns table (error text)
language plpgsql as $$
begin
    perform queue.add_default_group(p_account_id, p_region);
    update queue.schedule_group g set tags = g.tags - p_keys, updated_at = clock_timestamp()
    where g.account_id = p_account_id and g.region = p_region and g.name = p_name;
    return query select case when not found then 'GroupNotFound' end;
end $$;
