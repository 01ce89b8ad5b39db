-- queue.create_schedule: makes a schedule inside the caller's transaction: it exists, and fires, once that commits.
-- Exactly one of p_cron, p_every and p_fire_at (rounded up to a second) says when, exactly one of p_queue and p_topic (a
-- routing key) where to. p_options: jitter_seconds, catchup, catchup_limit, failure_threshold, overlap, start_at, end_at.
-- Returns the first time that it fires. Raises QU002 (there is one of that name), QU003 (a name, time, target or option
-- that is not allowed, or no time to fire at). SQL interface.
create or replace function queue.create_schedule(
    p_name text, p_cron text default null, p_every text default null, p_fire_at timestamptz default null,
    p_queue text default null, p_topic text default null, p_message jsonb default null, p_headers jsonb default null,
    p_timezone text default 'UTC', p_options jsonb default '{}')
returns timestamptz
language plpgsql as $$
declare
    v_form text := case when p_cron is not null then 'cron' when p_every is not null then 'every' else 'fire_at' end;
    v_written text := coalesce(p_cron, p_every,
        queue.schedule_time(date_trunc('second', p_fire_at + interval '999999 microseconds')));
    v_canonical text;
    v_next timestamptz;
    v_error text;
begin
    perform queue.check_schedule(p_name, p_topic, p_headers, p_options);
    if num_nonnulls(p_cron, p_every, p_fire_at) <> 1 or num_nonnulls(p_queue, p_topic) <> 1 or p_message is null then
        raise exception 'a schedule has one of cron, every and fire_at, one of queue and topic, and a message'
            using errcode = 'QU003';
    end if;
    v_canonical := queue.parse_schedule(v_form, v_written, p_timezone);
    if v_form = 'fire_at' then
        v_next := v_canonical::timestamptz;
    else
        select f into v_next from queue.next_fires(v_canonical, p_timezone,
            greatest(clock_timestamp(), (p_options ->> 'start_at')::timestamptz - interval '1 second'), 1) f;
    end if;
    if v_next is null or v_next > (p_options ->> 'end_at')::timestamptz then
        raise exception 'the schedule would never fire' using errcode = 'QU003';
    end if;
    select p.error into v_error from queue.put_schedule('000000000000', 'us-east-1', 'default', p_name, 'create',
        p_options || jsonb_build_object('door', 'native', 'form', v_form, 'expression', v_written,
            'canonical', v_canonical, 'timezone', p_timezone, 'target', jsonb_strip_nulls(jsonb_build_object(
                'queue', p_queue, 'topic', p_topic)) || jsonb_build_object('message', p_message)
                || case when p_headers is null then '{}' else jsonb_build_object('headers', p_headers) end), v_next) p;
    if v_error is not null then
        raise exception 'schedule "%" exists', p_name using errcode = 'QU002';
    end if;
    return v_next;
end $$;
