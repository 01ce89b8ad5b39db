-- queue.put_schedule: writes a schedule.
--   The mode `create` inserts the schedule. An existing schedule with the same client_token does not change, and the
--     function returns it.
--   The mode `replace` inserts the schedule, or replaces all but its identity, created_at, fire_count and
--     last_fired_at. An equal schedule keeps its updated_at.
--   The mode `update` replaces an existing schedule.
--   The mode `patch` changes only p_fields of an existing schedule.
--   `p_fields` contains columns of queue.schedule by name, without identity and counts. Times are in ISO 8601.
--   `p_next_fire_at` is the next occurrence after `now` of read_schedule, or the time of a one-shot schedule.
--   `error` is ScheduleExists, ScheduleNotFound or GroupNotFound.
-- Stores p_next_fire_at for a new schedule, and after a change of the expression, time zone, start or end. Also stores
-- p_next_fire_at if a pause ends after the stored occurrence. In all other cases, the stored occurrence stays. If a
-- stored occurrence was due and has not fired, stores a run that says that the occurrence was skipped. If a schedule of
-- the REST API has no next occurrence, the function pauses the schedule. Resets the count of failures and the last
-- error, except in a patch that changes neither expression nor status. Locks the schedule, and its group against
-- deletion.
create or replace function queue.put_schedule(
    p_account_id text, p_region text, p_group text, p_name text, p_mode text, p_fields jsonb,
    p_next_fire_at timestamptz)
returns table (schedule jsonb, created boolean, error text)
language plpgsql as $$
declare
    v_old queue.schedule;
    v_new queue.schedule;
    v_now timestamptz := clock_timestamp();
    v_same_times boolean;
    v_fields jsonb := p_fields - array['schedule_id', 'account_id', 'region', 'group_name', 'name', 'fire_count',
        'created_at', 'updated_at', 'last_fired_at', 'next_fire_at', 'due_at', 'consecutive_failures'];
    v_defaults constant jsonb := '{"jitter_seconds": 0, "catchup": false, "catchup_limit": 100, "overlap": "allow",
        "failure_threshold": 3, "status": "active"}';
begin
    -- The group and the existing schedule
    if p_group <> 'default' then
        perform from queue.schedule_group g
        where g.account_id = p_account_id and g.region = p_region and g.name = p_group for share;
        if not found then
            return query select null::jsonb, false, 'GroupNotFound'::text;
            return;
        end if;
    end if;
    select * into v_old from queue.schedule s
    where s.account_id = p_account_id and s.region = p_region and s.group_name = p_group and s.name = p_name for update;
    if v_old.schedule_id is not null and p_mode = 'create' then
        return query select to_jsonb(v_old), false, case
            when v_old.client_token is distinct from v_fields ->> 'client_token' or v_old.client_token is null
            then 'ScheduleExists' end;
        return;
    elsif v_old.schedule_id is null and p_mode in ('update', 'patch') then
        return query select null::jsonb, false, 'ScheduleNotFound'::text;
        return;
    end if;
    -- The new row
    v_new := case when p_mode = 'patch' then jsonb_populate_record(v_old, v_fields)
        else jsonb_populate_record(null::queue.schedule, v_defaults || v_fields) end;
    v_new.schedule_id := coalesce(v_old.schedule_id, nextval('queue.schedule_id'));
    v_new.account_id := p_account_id;
    v_new.region := p_region;
    v_new.group_name := p_group;
    v_new.name := p_name;
    v_new.created_at := coalesce(v_old.created_at, v_now);
    v_new.updated_at := v_now;
    v_new.last_fired_at := v_old.last_fired_at;
    v_new.fire_count := coalesce(v_old.fire_count, 0);
    -- Failures
    v_same_times := (v_old.expression_kind, v_old.canonical, v_old.timezone, v_old.start_at, v_old.end_at)
        is not distinct from (v_new.expression_kind, v_new.canonical, v_new.timezone, v_new.start_at, v_new.end_at);
    v_new.consecutive_failures := 0;
    if p_mode = 'patch' and v_same_times and v_old.status = v_new.status then
        v_new.consecutive_failures := v_old.consecutive_failures;
    else
        v_new.last_error := null;
    end if;
    -- The next occurrence
    v_new.next_fire_at := p_next_fire_at;
    if v_same_times then
        v_new.anchor_at := v_old.anchor_at;
        if not (v_old.status = 'paused' and v_new.status = 'active'
            and coalesce(v_old.next_fire_at, v_now) <= v_now)
        then
            v_new.next_fire_at := v_old.next_fire_at;
        end if;
    end if;
    perform queue.record_skipped_run(v_old.schedule_id, v_old.next_fire_at,
        'skipped: the schedule was changed before it fired')
    where v_old.status = 'active' and v_old.due_at <= v_now and v_new.next_fire_at is distinct from v_old.next_fire_at;
    v_new.due_at := queue.schedule_due_at(v_new.schedule_id, v_new.next_fire_at, queue.schedule_window(v_new));
    if v_new.next_fire_at is null and v_new.api = 'rest' and v_new.status = 'active' then
        v_new.status := 'paused';
        v_new.last_error := 'no future occurrence';
    end if;
    -- An equal schedule does not change
    if p_mode = 'replace' and to_jsonb(v_new) - 'updated_at' = to_jsonb(v_old) - 'updated_at' then
        return query select to_jsonb(v_old), false, null::text;
        return;
    end if;
    -- Store the schedule
    insert into queue.schedule values (v_new.*)
    on conflict (schedule_id) do update set
        (api, expression_kind, expression, canonical, timezone, anchor_at, start_at, end_at, jitter_seconds,
         window_minutes, catchup, catchup_limit, failure_threshold, overlap, target, status, next_fire_at, due_at,
         last_error, consecutive_failures, description, kms_key_arn, action_after_completion, client_token, updated_at)
        = (excluded.api, excluded.expression_kind, excluded.expression, excluded.canonical, excluded.timezone,
            excluded.anchor_at,
         excluded.start_at, excluded.end_at, excluded.jitter_seconds, excluded.window_minutes, excluded.catchup,
         excluded.catchup_limit, excluded.failure_threshold, excluded.overlap, excluded.target, excluded.status,
         excluded.next_fire_at, excluded.due_at, excluded.last_error, excluded.consecutive_failures,
         excluded.description, excluded.kms_key_arn, excluded.action_after_completion, excluded.client_token,
         excluded.updated_at);
    if v_new.status = 'active' and v_new.due_at is not null then
        perform queue.wake_schedules(v_new.due_at);
    end if;
    return query select to_jsonb(v_new), v_old.schedule_id is null, null::text;
-- A concurrent call has created a schedule with this name. The next call sees the new schedule.
exception when unique_violation then
    return query select * from queue.put_schedule(p_account_id, p_region, p_group, p_name, p_mode, p_fields,
        p_next_fire_at);
end $$;
