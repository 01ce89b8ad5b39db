-- Local times of zones.

-- queue.first_instant: returns the first instant at which a zone's clocks show a local time. Returns null if the clocks
-- skip the local time. A zone differs from UTC by at most 16 hours. The counterpart in Python is
-- scheduler/expressions/zones.py.
create or replace function queue.first_instant(p_local timestamp, p_zone text) returns timestamptz
language sql stable parallel safe as $$
    select min(c.at)
    from unnest(array[interval '-16 hours', interval '16 hours']) u(away)
    cross join lateral (
        select (p_local - queue.zone_offset((p_local at time zone 'utc') + u.away, p_zone)) at time zone 'utc' as at) c
    where c.at at time zone p_zone = p_local;
$$;

-- queue.zone_offset: returns how far a zone's clocks are ahead of UTC at a given time.
create or replace function queue.zone_offset(p_at timestamptz, p_zone text) returns interval
language sql stable parallel safe
return (p_at at time zone p_zone) - (p_at at time zone 'utc');
