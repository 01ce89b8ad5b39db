-- The expressions rate() and at().

-- queue.next_rate_fires: returns the next times of the series anchor, anchor + rate, anchor + 2 rates … The times are
-- whole seconds, and a day has 24 hours. Raises QU003 if the expression is invalid.
create or replace function queue.next_rate_fires(
    p_canonical text, p_after timestamptz, p_count int, p_anchor timestamptz)
returns setof timestamptz
language sql stable parallel safe as $$
    select f.at
    from (select date_trunc('second', p_anchor, 'utc') as anchor, queue.parse_rate(p_canonical) as seconds) r
    cross join lateral (
        select greatest(0, floor(extract(epoch from p_after - r.anchor) / r.seconds) + 1)::bigint as passed) p
    cross join lateral (
        select r.anchor + make_interval(secs => (p.passed + n) * r.seconds::double precision) as at
        from generate_series(0, p_count - 1) n) f
    where f.at <= timestamptz '2199-12-31 23:59:59Z' order by f.at;
$$;

-- queue.parse_rate: returns the seconds of AWS's `rate(value unit)`. scheduler/expressions/rate.py is the counterpart
-- in Python. Raises QU003 if the expression is invalid.
create or replace function queue.parse_rate(p_expression text) returns bigint
language plpgsql immutable parallel safe as $$
declare
    v_parts text[] := regexp_match(p_expression, E'^rate\\(0*([1-9][0-9]{0,8}) (minute|hour|day)s?\\)$');
    v_seconds bigint := v_parts[1]::bigint
        * case v_parts[2] when 'minute' then 60 when 'hour' then 3600 when 'day' then 86400 end;
begin
    -- A rate is at most 230 years.
    if v_seconds is null or v_seconds > 230 * 366 * 86400::bigint then
        raise exception '"%" is not a rate: rate(value minutes|hours|days)', p_expression using errcode = 'QU003';
    end if;
    return v_seconds;
end $$;

-- queue.parse_every: returns the cron expression of an interval such as `5m`. The interval is a number with s, m, h or
-- d, and the number must divide the next larger unit. The counterpart in Python is scheduler/expressions/every.py.
-- Raises QU003 if the text is invalid.
create or replace function queue.parse_every(p_text text) returns text
language plpgsql immutable parallel safe as $$
declare
    v_unit text := right(p_text, 1);
    v_whole int := case v_unit when 's' then 60 when 'm' then 60 when 'h' then 24 when 'd' then 1 end;
    v_number int := case when p_text ~ '^0*[1-9][0-9]?[smhd]$' then left(p_text, -1)::int end;
    v_step text := case v_number when 1 then '*' else '*/' || v_number end;
begin
    if v_number is null or v_number > v_whole or v_whole % v_number <> 0 then
        raise exception '"%" is not a number that divides the next unit and s, m, h or d', p_text
            using errcode = 'QU003', hint = 'Examples: 30s, 5m, 6h, 1d';
    end if;
    return case
        when v_unit = 'd' or v_unit = 'h' and v_number = 24 then '0 0 * * *'
        when v_unit = 's' and v_number = 60 then '* * * * *'
        when v_unit = 'm' and v_number = 60 then '0 * * * *'
        when v_unit = 's' then v_step || ' * * * * *'
        when v_unit = 'm' then v_step || ' * * * *'
        else '0 ' || v_step || ' * * *' end;
end $$;

-- queue.parse_moment: returns the instant of `fire_at` or of AWS's `at(…)`. `fire_at` is in RFC 3339 or is a local time
-- of the zone. Drops fractions of a second. scheduler/expressions/moments.py is the counterpart in Python. Raises QU003
-- if the text is invalid or the local time does not exist.
create or replace function queue.parse_moment(p_text text, p_zone text) returns timestamptz
language plpgsql stable parallel safe as $$
declare
    v_parts text[] := case when p_text like 'at(%'
        then regexp_match(p_text, E'^at\\((\\d{4})-(\\d\\d)-(\\d\\d)T(\\d\\d):(\\d\\d):(\\d\\d)()()()()\\)$')
        else regexp_match(p_text, E'^(\\d{4})-(\\d\\d)-(\\d\\d)[Tt ](\\d\\d):(\\d\\d)(?::(\\d\\d)(?:\\.\\d+)?)?'
            || E'(?:([Zz])|([+-])(\\d\\d):(\\d\\d))?$') end;
    v_local timestamp;
    v_at timestamptz;
begin
    if v_parts is null or v_parts[1]::int not between 1970 and 2199 or v_parts[4]::int > 23
        or coalesce(v_parts[6], '0')::int > 59 or v_parts[9] > '23' or v_parts[10] > '59'
    then
        raise exception '"%" is not a time such as 2027-01-31T09:00:00Z', p_text using errcode = 'QU003';
    end if;
    v_local := make_timestamp(v_parts[1]::int, v_parts[2]::int, v_parts[3]::int, v_parts[4]::int, v_parts[5]::int,
        coalesce(v_parts[6], '0')::int);
    v_at := case when v_parts[8] in ('+', '-') then (v_local
            - (v_parts[8] || v_parts[9] || ':' || v_parts[10])::interval) at time zone 'utc'
        else queue.first_instant(v_local, case when upper(v_parts[7]) = 'Z' then 'UTC' else p_zone end) end;
    if v_at not between timestamptz '1970-01-01 00:00:00Z' and timestamptz '2199-12-31 23:59:59Z'
        and p_text not like 'at(%' then
        raise exception '"%" is not between 1970 and 2199', p_text using errcode = 'QU003';
    end if;
    if v_at is null then
        raise exception '% does not exist in %: the clock is put forward then', v_local, p_zone using errcode = 'QU003';
    end if;
    return v_at;
exception when datetime_field_overflow then
    raise exception 'there is no such time as "%"', p_text using errcode = 'QU003';
end $$;
