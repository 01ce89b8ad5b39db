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
