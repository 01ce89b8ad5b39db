-- queue.next_local_time: returns the first local time of a cron expression after p_after. The parameters before p_after
-- are columns of queue.parse_cron. Returns null if the expression has no time until 2199. Searches 40 years, because
-- the distance between two times of an expression is never longer.
-- This file also contains next_time_of_day.
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
