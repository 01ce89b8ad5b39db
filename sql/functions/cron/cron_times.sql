-- The next times of cron expressions.

-- queue.first_instant: returns the first instant at which a zone's clocks show a local time. Returns null if the clocks
-- skip the local time. A zone differs from UTC by at most 16 hours. The counterpart in Python is
-- scheduler/expressions/zones.py.
create or replace function queue.first_instant(p_local timestamp, p_zone text) returns timestamptz
language sql stable parallel safe as $$
    select min(c.at)
    from unnest(array[interval '-16 hours', interval '16 hours']) u(away)
    cross join lateral (
        select (p_local - queue.zone_offset((p_local at time zone 'utc') + u.away, p_zone)) at time zone 'utc' as at) c
    where c.at at time zone p_zone = p_local;
$$;

-- queue.zone_offset: returns how far a zone's clocks are ahead of UTC at a given time.
create or replace function queue.zone_offset(p_at timestamptz, p_zone text) returns interval
language sql stable parallel safe
return (p_at at time zone p_zone) - (p_at at time zone 'utc');

-- queue.next_cron_fires: returns the next times of a cron expression. Skips a local time that does not exist. A local
-- time that occurs twice fires only the first time. The counterpart in Python is scheduler/expressions/next_time.py,
-- and test_schedule_expressions compares the two. Raises QU003 if the expression is invalid.
create or replace function queue.next_cron_fires(p_canonical text, p_zone text, p_after timestamptz, p_count int)
returns setof timestamptz
language plpgsql stable parallel safe as $$
declare
    v_cron record;
    v_local timestamp := date_trunc('second', p_after at time zone p_zone);
    v_found timestamptz;
    v_left int := p_count;
begin
    select * into strict v_cron from queue.parse_cron(p_canonical);
    while v_left > 0 loop
        v_local := queue.next_local_time(
            p_seconds => v_cron.seconds, p_minutes => v_cron.minutes, p_hours => v_cron.hours,
            p_months => v_cron.months, p_years => v_cron.years, p_of_month => v_cron.of_month,
            p_of_week => v_cron.of_week, p_aws => v_cron.aws, p_after => v_local);
        v_found := queue.first_instant(v_local, p_zone);
        exit when v_local is null or v_found > timestamptz '2199-12-31 23:59:59Z';
        if v_found > p_after then
            v_left := v_left - 1;
            return next v_found;
        else
            v_local := greatest(v_local, queue.end_of_clock_change(v_local, p_zone));
        end if;
    end loop;
end $$;

-- queue.end_of_clock_change: returns the last second of the gap or the repeated hour that contains a local time. A
-- search continues after this second. scheduler/expressions/zones.py is the counterpart in Python.
create or replace function queue.end_of_clock_change(p_local timestamp, p_zone text) returns timestamp
language plpgsql stable parallel safe as $$
declare
    v_before interval := queue.zone_offset((p_local at time zone 'utc') - interval '16 hours', p_zone);
    v_after interval := queue.zone_offset((p_local at time zone 'utc') + interval '16 hours', p_zone);
    v_low timestamptz := (p_local - greatest(v_before, v_after)) at time zone 'utc';
    v_high timestamptz := (p_local - least(v_before, v_after)) at time zone 'utc';
    v_middle timestamptz;
begin
    while v_high - v_low > interval '1 second' loop
        v_middle := v_low + floor(extract(epoch from v_high - v_low) / 2) * interval '1 second';
        if queue.zone_offset(v_middle, p_zone) = v_before then
            v_low := v_middle;
        else
            v_high := v_middle;
        end if;
    end loop;
    return case when v_before = v_after then p_local
                else (v_high at time zone 'utc') + greatest(v_before, v_after) - interval '1 second' end;
end $$;

-- queue.next_local_time: returns the first local time of a cron expression after p_after. The parameters before p_after
-- are columns of queue.parse_cron. Returns null if the expression has no time until 2199. Searches 40 years, because
-- the distance between two times of an expression is never longer.
create or replace function queue.next_local_time(
    p_seconds int[], p_minutes int[], p_hours int[], p_months int[], p_years int[], p_of_month text, p_of_week text,
    p_aws boolean, p_after timestamp)
returns timestamp
language plpgsql immutable parallel safe as $$
declare
    v_month date;
    v_day int;
    v_date date;
    v_time time;
begin
    for v_month in
        select m::date from generate_series(date_trunc('month', p_after), least(timestamp '2199-12-01',
            case when p_years is null then p_after + interval '40 years' end), '1 month') m
        where extract(month from m) = any (p_months) and (p_years is null or extract(year from m) = any (p_years))
    loop
        foreach v_day in array queue.cron_days(p_of_month, p_of_week, p_aws, v_month) loop
            v_date := v_month + v_day - 1;
            continue when v_date < p_after::date;
            v_time := queue.next_time_of_day(
                p_seconds, p_minutes, p_hours, case when v_date = p_after::date then p_after::time end);
            if v_time is not null then
                return v_date + v_time;
            end if;
        end loop;
    end loop;
    return null;
end $$;

-- queue.next_time_of_day: returns the first time of day of a cron expression after p_after. Returns the first time of
-- the whole day if p_after is null. Returns null if the day has no later time. The arrays must be in ascending order.
create or replace function queue.next_time_of_day(p_seconds int[], p_minutes int[], p_hours int[], p_after time)
returns time
language plpgsql immutable parallel safe as $$
declare
    v_hour int := extract(hour from p_after);
    v_minute int := extract(minute from p_after);
    v_found int := p_hours[1];
begin
    if v_hour = any (p_hours) and v_minute = any (p_minutes) then
        v_found := (select min(s) from unnest(p_seconds) s where s > floor(extract(second from p_after)));
        if v_found is not null then
            return make_time(v_hour, v_minute, v_found);
        end if;
    end if;
    if v_hour = any (p_hours) then
        v_found := (select min(m) from unnest(p_minutes) m where m > v_minute);
        if v_found is not null then
            return make_time(v_hour, v_found, p_seconds[1]);
        end if;
    end if;
    if p_after is not null then
        v_found := (select min(h) from unnest(p_hours) h where h > v_hour);
    end if;
    return make_time(v_found, p_minutes[1], p_seconds[1]);
end $$;
