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

-- queue.check_schedule: raises QU003 if a schedule of the REST API has an invalid name, routing key, header or option.
create or replace function queue.check_schedule(p_name text, p_topic text, p_headers jsonb, p_options jsonb)
returns void
language plpgsql as $$
declare
    v_unknown text;
begin
    if p_name is null or p_name !~ '^[a-z0-9_-]{1,64}$' then
        raise exception 'a schedule''s name is 1 to 64 of a-z, 0-9, _ and -' using errcode = 'QU003';
    elsif jsonb_typeof(p_headers) <> 'object' or p_headers ? '_schedule' then
        raise exception 'headers are a JSON object without _schedule' using errcode = 'QU003';
    elsif p_topic is not null then
        perform queue.check_routing_key(p_topic);
    end if;
    select k into v_unknown from jsonb_object_keys(p_options) k
    where k not in ('jitter_seconds', 'catchup', 'catchup_limit', 'failure_threshold', 'overlap', 'start_at', 'end_at')
    limit 1;
    if v_unknown is not null then
        raise exception 'there is no option %', v_unknown using errcode = 'QU003';
    elsif (p_options ->> 'jitter_seconds')::int not between 0 and 86400
        or (p_options ->> 'catchup_limit')::int not between 1 and 10000
        or (p_options ->> 'failure_threshold')::int not between 1 and 1000
        or p_options ->> 'overlap' not in ('allow', 'skip')
    then
        raise exception 'jitter_seconds is 0 to 86400, catchup_limit 1 to 10000, failure_threshold 1 to 1000, overlap '
            'allow or skip' using errcode = 'QU003';
    end if;
end $$;

-- queue.run_schedule: fires a schedule now, outside of its times, in this transaction. Also fires paused schedules. The
-- next occurrence of the schedule does not change.
--   `scheduled_for` is now, to the second.
--   `message_ids` has the format of queue.schedule_run.
--   `error` is NotFound or TargetFailed. For TargetFailed, `detail` has the reason, and the function sends nothing.
-- A schedule with an SNS topic, a bus or a universal target fails, because a worker has to build its message. Locks the
-- schedule.
create or replace function queue.run_schedule(p_account_id text, p_region text, p_group text, p_name text)
returns table (scheduled_for timestamptz, fired_at timestamptz, message_ids jsonb, error text, detail text)
language plpgsql as $$
declare
    v_schedule queue.schedule;
    v_run queue.schedule_run;
begin
    select * into v_schedule from queue.schedule s
    where s.account_id = p_account_id and s.region = p_region and s.group_name = p_group and s.name = p_name
    for no key update;
    if not found then
        return query select null::timestamptz, null::timestamptz, null::jsonb, 'NotFound'::text, null::text;
        return;
    end if;
    v_run := queue.dispatch_schedule(v_schedule, date_trunc('second', clock_timestamp()), true, 1, null);
    update queue.schedule s set last_fired_at = v_run.fired_at, fire_count = s.fire_count + 1
    where s.schedule_id = v_schedule.schedule_id;
    return query select v_run.scheduled_for, v_run.fired_at, v_run.message_ids, null::text, null::text;
exception
    when sqlstate 'QU006' or sqlstate 'QU009' then      -- The target refused the message.
        return query select null::timestamptz, null::timestamptz, null::jsonb, 'TargetFailed'::text, sqlerrm;
    when sqlstate 'QU007' then          -- A worker has to build the message.
        return query select null::timestamptz, null::timestamptz, null::jsonb, 'TargetFailed'::text,
            'only the worker builds messages to topics of SNS, buses and universal targets';
end $$;

-- queue.sync_schedules: writes many schedules of the group `default`, as put_schedule does with `replace`. If p_prune
-- is true, deletes schedules of the REST API with other names, except those that send_later created.
--   `n` is the position of the schedule, from 1. Null means that the schedule was deleted.
--   `schedule` is the schedule as JSON by column.
--   `changed` is false if the schedule was equal before.
-- Locks the schedules in the order of names.
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

-- queue.drop_schedule_once: deletes a schedule or, with an empty name, a group. A repeated call with the same client
-- token changes nothing, even if a new schedule has the same name. `dropped` says whether the schedule existed before
-- the first call. Takes the locks of drop_schedule or drop_schedule_group.
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
