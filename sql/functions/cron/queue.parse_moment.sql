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
