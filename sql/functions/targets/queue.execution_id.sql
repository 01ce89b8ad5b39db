-- queue.execution_id: returns 16 hexadecimal digits that name an attempt to invoke a target.
create or replace function queue.execution_id(p_schedule_id bigint, p_at timestamptz, p_attempt int) returns text
language sql immutable parallel safe
return left(md5(format('%s %s %s', p_schedule_id, extract(epoch from p_at)::bigint, p_attempt)), 16);
