-- queue.cron_days(day-of-month, day-of-week, aws, month): returns the days of a month that a cron expression names, in
-- order. A field that restricts nothing is null. If both fields restrict the days, a day has to match only one of them
-- (crontab, POSIX). p_month is the month's first day. Raises QU003.
-- The counterpart in Python is scheduler/expressions/days.py.
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
