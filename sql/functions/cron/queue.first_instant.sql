-- queue.first_instant(local time, zone): returns the instant of a local time, the first one if it occurs twice, and null
-- if it does not occur because the clock is put forward. The function does the same as
-- scheduler/expressions/zones.py. A zone is never more than 16 hours from UTC.
create or replace function queue.first_instant(p_local timestamp, p_zone text) returns timestamptz
language sql stable parallel safe as $$
    select min(c.at)
    from unnest(array[interval '-16 hours', interval '16 hours']) u(away)
    cross join lateral (
        select (p_local - queue.zone_offset((p_local at time zone 'utc') + u.away, p_zone)) at time zone 'utc' as at) c
    where c.at at time zone p_zone = p_local;
$$;
