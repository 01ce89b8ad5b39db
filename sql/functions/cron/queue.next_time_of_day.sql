-- queue.next_time_of_day(seconds, minutes, hours, after): the first time of day of a cron expression after p_after, or
-- of the whole day when p_after is null; null when there is none. The arrays are in order.
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
