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
