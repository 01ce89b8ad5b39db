-- queue.epoch_ms: returns the milliseconds since 1970, the unit of SentTimestamp.
create or replace function queue.epoch_ms(p_at timestamptz) returns bigint
language sql stable parallel safe
return (date_part('epoch', p_at) * 1000)::bigint;
