-- queue.public_id(shard, id): the number under which the REST and SQL interfaces know a message.
-- Fits a JavaScript number (< 2^53) up to 2^45 messages a shard. `id & 255 - 2` and `id >> 8` lead back.
create or replace function queue.public_id(p_shard int, p_id bigint) returns bigint
language sql immutable parallel safe
return (p_id << 8) | (p_shard + 2);
