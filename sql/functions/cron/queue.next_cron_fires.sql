-- queue.next_cron_fires: returns the next times of a cron expression. Skips a local time that does not exist. A local
-- time that occurs twice fires only the first time. The counterpart in Python is scheduler/expressions/next_time.py,
-- and test_schedule_expressions compares the two. Raises QU003 if the expression is invalid.
-- This file also contains end_of_clock_change.
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
        v_local := queue.next_local_time(
            p_seconds => v_cron.seconds, p_minutes => v_cron.minutes, p_hours => v_cron.hours,
            p_months => v_cron.months, p_years => v_cron.years, p_of_month => v_cron.of_month,
            p_of_week => v_cron.of_week, p_aws => v_cron.aws, p_after => v_local);
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

-- queue.end_of_clock_change: returns the last second of the gap or the repeated hour that contains a local time. A
-- search continues after this second. scheduler/expressions/zones.py is the counterpart in Python.
create or replace function queue.end_of_clock_change(p_local timestamp, p_zone text) returns timestamp
language plpgsql stable parallel safe as $$
declare
    v_before interval := queue.zone_offset((p_local at time zone 'utc') - interval '16 hours', p_zone);
    v_after interval := queue.zone_offset((p_local at time zone 'utc') + interval '16 hours', p_zone);
    v_low timestamptz := (p_local - greatest(v_before, v_after)) at time zone 'utc';
    v_high timestamptz := (p_local - least(v_before, v_after)) at time zone 'utc';
    v_middle timestamptz;
begin
    while v_high - v_low > interval '1 second' loop
        v_middle := v_low + floor(extract(epoch from v_high - v_low) / 2) * interval '1 second';
        if queue.zone_offset(v_middle, p_zone) = v_before then
            v_low := v_middle;
        else
            v_high := v_middle;
        end if;
    end loop;
    return case when v_before = v_after then p_local
                else (v_high at time zone 'utc') + greatest(v_before, v_after) - interval '1 second' end;
end $$;
