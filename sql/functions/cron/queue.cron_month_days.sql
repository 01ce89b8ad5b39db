-- queue.cron_month_days: returns the days of a month that match the day-of-month field. The field has numbers, `L`,
-- `L-3`, `LW` and `15W`. MonthDays in scheduler/expressions/days.py is the counterpart in Python. Raises QU003 if the
-- field is invalid.
-- This file also contains nearest_weekday.
create or replace function queue.cron_month_days(p_field text, p_wraps boolean, p_first date, p_length int)
returns int[]
language plpgsql immutable parallel safe as $$
declare
    v_item text;
    v_day int;
    v_days int[] := '{}';
begin
    foreach v_item in array string_to_array(p_field, ',') loop
        v_day := null;
        if v_item = 'L' then
            v_day := p_length;
        elsif v_item = 'LW' then
            v_day := queue.nearest_weekday(p_first + p_length - 1);
        elsif v_item like 'L-%' then
            v_day := p_length - queue.cron_number(substr(v_item, 3), 1, 30);
        elsif v_item like '%W' then
            v_day := queue.cron_number(rtrim(v_item, 'W'), 1, 31);
            v_day := case when v_day <= p_length then queue.nearest_weekday(p_first + v_day - 1) end;
        else
            v_days := v_days || queue.cron_values(v_item, 1, 31, 31, '{}', p_wraps);
        end if;
        v_days := v_days || v_day;
    end loop;
    return v_days;
end $$;

-- queue.nearest_weekday: returns the day from Monday to Friday that is nearest to a date in the same month (`W`).
create or replace function queue.nearest_weekday(p_date date) returns int
language sql immutable parallel safe
return extract(day from p_date)::int + case extract(isodow from p_date)
    when 6 then case when extract(day from p_date) = 1 then 2 else -1 end
    when 7 then case when extract(day from p_date + 1) = 1 then -2 else 1 end
    else 0 end;
