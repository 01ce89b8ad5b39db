-- queue.next_cron_fires(expression, zone, after, count): the next times of a cron expression. A local time that does
-- not exist is skipped, one that occurs twice fires once, the first time. Raises QU003.
-- Its counterpart in Python is scheduler/expressions/next_time.py; test_schedule_expressions compares the two.
create or replace function queue.next_cron_fires(p_canonical text, p_zone text, p_after timestamptz, p_count int)
returns setof timestamptz
language plpgsql stable parallel safe as $$
declare
    v_cron record;
    v_local timestamp := date_trunc('second', p_after at time zone p_zone);
    v_found timestamptz;
    v_left int := p_count;
begin
    select * into strict v_cron from queue.parse_cron(p_canonical);
    while v_left > 0 loop
        v_local := queue.next_local_time(v_cron.seconds, v_cron.minutes, v_cron.hours, v_cron.months, v_cron.years,
            v_cron.of_month, v_cron.of_week, v_cron.aws, v_local);
        v_found := queue.first_instant(v_local, p_zone);
        exit when v_local is null or v_found > timestamptz '2199-12-31 23:59:59Z';
        if v_found > p_after then
            v_left := v_left - 1;
            return next v_found;
        else
            v_local := greatest(v_local, queue.end_of_clock_change(v_local, p_zone));
        end if;
    end loop;
end $$;
