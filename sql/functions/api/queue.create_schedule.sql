-- queue.create_schedule: creates a schedule inside the caller's transaction. Returns the first time at which the
-- schedule fires. The schedule exists and fires only after the caller commits. The caller gives exactly one of `cron`,
-- `every` and `fire_at`. The function rounds `fire_at` up to a second. The caller gives exactly one of `queue` and
-- `topic`. `topic` is a routing key. `queue` is a name or an ARN in the account and region of the schedule. `options`
-- can contain jitter_seconds, catchup, catchup_limit, failure_threshold, overlap, start_at and end_at. Raises QU002 if
-- the name is taken. Raises QU003 if a name, time, target or option is invalid, or if the schedule would never fire.
-- SQL interface.
create or replace function queue.create_schedule(
    name text, cron text default null, every text default null, fire_at timestamptz default null,
    queue text default null, topic text default null, message jsonb default null, headers jsonb default null,
    timezone text default 'UTC', options jsonb default '{}')
returns timestamptz
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
declare
    v_form text := case when cron is not null then 'cron' when every is not null then 'every' else 'fire_at' end;
    v_expression text := coalesce(cron, every,
        queue.schedule_time(date_trunc('second', fire_at + interval '999999 microseconds')));
    v_canonical text;
    v_next timestamptz;
    v_caller record;
    v_prefix text;
    v_error text;
begin
    select * into v_caller from queue.caller_account();
    v_prefix := format('arn:aws:sqs:%s:%s:', v_caller.region, v_caller.account_id);
    perform queue.check_schedule(name, topic, headers, options);
    if num_nonnulls(cron, every, fire_at) <> 1 or num_nonnulls(queue, topic) <> 1 or message is null then
        raise exception 'a schedule has one of cron, every and fire_at, one of queue and topic, and a message'
            using errcode = 'QU003';
    elsif queue like 'arn:%' and not starts_with(queue, v_prefix) then
        raise exception 'a schedule can only send to a queue in its account and region' using errcode = 'QU003';
    end if;
    v_canonical := queue.parse_schedule(v_form, v_expression, timezone);
    if v_form = 'fire_at' then
        v_next := v_canonical::timestamptz;
    else
        select f into v_next from queue.next_fires(v_canonical, timezone,
            greatest(clock_timestamp(), (options ->> 'start_at')::timestamptz - interval '1 second'), 1) f;
    end if;
    if v_next is null or v_next > (options ->> 'end_at')::timestamptz then
        raise exception 'the schedule would never fire' using errcode = 'QU003';
    end if;
    select p.error into v_error from queue.put_schedule(
        p_account_id => v_caller.account_id, p_region => v_caller.region, p_group => 'default', p_name => name,
        p_mode => 'create',
        p_fields => options || jsonb_build_object('api', 'rest', 'expression_kind', v_form, 'expression', v_expression,
            'canonical', v_canonical, 'timezone', timezone, 'target', jsonb_strip_nulls(jsonb_build_object(
                'queue', replace(queue, v_prefix, ''), 'topic', topic)) || jsonb_build_object('message', message)
                || case when headers is null then '{}' else jsonb_build_object('headers', headers) end),
        p_next_fire_at => v_next) p;
    if v_error is not null then
        raise exception 'schedule "%" exists', name using errcode = 'QU002';
    end if;
    perform queue.audit_sql('scheduler:CreateSchedule', format('arn:aws:scheduler:%s:%s:schedule/default/%s',
        v_caller.region, v_caller.account_id, name), '{}', 1, true);
    return v_next;
end $$;
