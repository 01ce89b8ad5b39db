-- queue.end_of_clock_change(local time, zone): the last second of the gap or of the repeated hour that a local time
-- lies in, so that a search can skip it. As scheduler/expressions/zones.py.
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
