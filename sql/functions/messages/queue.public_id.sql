-- queue.public_id: returns the number that identifies a message in the REST and SQL interfaces. In a public id `n`, `(n
-- & 255) - 2` is the shard, and `n >> 8` is the id. The number fits into a JavaScript number (< 2^53) up to 2^45
-- messages in a shard.
create or replace function queue.public_id(p_shard int, p_id bigint) returns bigint
language sql immutable parallel safe
return (p_id << 8) | (p_shard + 2);
