-- queue.zone_offset: returns how far a zone's clocks are ahead of UTC at a given time.
create or replace function queue.zone_offset(p_at timestamptz, p_zone text) returns interval
language sql stable parallel safe
return (p_at at time zone p_zone) - (p_at at time zone 'utc');
