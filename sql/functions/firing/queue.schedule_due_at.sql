-- queue.schedule_due_at: returns the time at which an occurrence fires if it can be up to p_seconds late. Returns the
-- same time in every call for an occurrence. The times of many occurrences are spread evenly over milliseconds.
create or replace function queue.schedule_due_at(p_schedule_id bigint, p_at timestamptz, p_seconds int)
returns timestamptz
language sql immutable parallel safe
return p_at + case when p_seconds > 0 then interval '1 millisecond' * mod(
    -- The mask removes the sign of the hash.
    hashint8extended(p_schedule_id, extract(epoch from p_at)::bigint) & 9223372036854775807, p_seconds * 1000::bigint)
    else '0' end;
