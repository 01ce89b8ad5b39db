-- Numbers and days in the fields of cron expressions.

-- queue.cron_number: returns the number that a text in a cron expression means. The text has digits, or is one of
-- p_names. The first name in p_names means p_low. Raises QU003 if the number is not between p_low and p_high.
create or replace function queue.cron_number(p_text text, p_low int, p_high int, p_names text[] default '{}')
returns int
language plpgsql immutable parallel safe as $$
declare
    v_digits text := ltrim(p_text, '0');
    v_number int := case when p_text = any (p_names) then array_position(p_names, p_text) - 1 + p_low
                         when p_text ~ '^[0-9]+$' and length(v_digits) <= 4 then ('0' || v_digits)::int end;
begin
    if v_number is null or v_number not between p_low and p_high then
        raise exception '"%" is not % to %', p_text, p_low, p_high using errcode = 'QU003';
    end if;
    return v_number;
end $$;

-- queue.cron_days: returns the days of a month that match a cron expression, in order. A field is null if it does not
-- restrict the days. If both fields restrict the days, a day has to match only one of them, as in POSIX crontab.
-- `p_month` is the first day of the month. scheduler/expressions/days.py is the counterpart in Python. Raises QU003 if
-- a field is invalid.
create or replace function queue.cron_days(p_of_month text, p_of_week text, p_aws boolean, p_month date) returns int[]
language plpgsql immutable parallel safe as $$
declare
    v_length int := extract(day from p_month + interval '1 month' - interval '1 day');
    v_days int[] := '{}';
begin
    if p_of_month is not null then
        v_days := queue.cron_month_days(p_of_month, p_aws, p_month, v_length);
    end if;
    if p_of_week is not null then
        v_days := v_days || queue.cron_week_days(p_of_week, p_aws, p_month, v_length);
    end if;
    return array(
        select d from generate_series(1, v_length) d
        where d = any (v_days) or p_of_month is null and p_of_week is null order by d);
end $$;
