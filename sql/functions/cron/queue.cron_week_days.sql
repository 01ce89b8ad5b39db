-- queue.cron_week_days: returns the days of a month that match the day-of-week field. The field has numbers, names,
-- `L`, `6L` and `6#2`. AWS counts days of the week from 1 (Sunday), and allows only one item in a field with `#`.
-- WeekDays in scheduler/expressions/days.py is the counterpart in Python. Raises QU003 if the field is invalid.
create or replace function queue.cron_week_days(p_field text, p_aws boolean, p_first date, p_length int)
returns int[]
language plpgsql immutable parallel safe as $$
declare
    v_names constant text[] := '{SUN,MON,TUE,WED,THU,FRI,SAT}';
    v_low constant int := p_aws::int;
    v_item text;
    v_days int[] := '{}';
begin
    if p_aws and p_field like '%#%' and p_field like '%,%' then
        raise exception 'with # the day-of-week has only one expression' using errcode = 'QU003';
    end if;
    foreach v_item in array string_to_array(p_field, ',') loop
        v_days := v_days || case
            when v_item = 'L' and p_aws then array(
                select d from generate_series(1, p_length) d where extract(dow from p_first + d - 1) = 6)
            when v_item like '%#%' then array(
                select d from generate_series(1, p_length) d
                where extract(dow from p_first + d - 1)
                        = (queue.cron_number(split_part(v_item, '#', 1), v_low, 7, v_names) - v_low) % 7
                    and (d + 6) / 7 = queue.cron_number(substr(v_item, strpos(v_item, '#') + 1), 1, 5))
            when v_item like '%L' and v_item <> 'L' then array(
                select d from generate_series(p_length - 6, p_length) d
                where extract(dow from p_first + d - 1)
                    = (queue.cron_number(left(v_item, -1), v_low, 7, v_names) - v_low) % 7)
            else array(
                select d from generate_series(1, p_length) d
                where extract(dow from p_first + d - 1) + v_low
                    = any (queue.cron_values(v_item, v_low, 6 + v_low, 7, v_names, p_aws)))
            end;
    end loop;
    return v_days;
end $$;
