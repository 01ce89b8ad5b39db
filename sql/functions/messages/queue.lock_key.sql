-- queue.lock_key(kind, queue, shard): the advisory lock of a shard. Kind 0: its writer, 1: its reader; of a queue
-- 2: the count of its messages in flight, 3: one of 256 sets of its ReceiveRequestAttemptIds. 4: message groups of a
-- FIFO topic. 5: the signing keys.
-- The upper 16 bits keep away from the keys of other applications in the same database.
create or replace function queue.lock_key(p_kind int, p_queue_id int, p_shard int) returns bigint
language sql immutable parallel safe
return (x'5051'::bigint << 48) | (p_queue_id::bigint << 16) | (p_kind << 8) | p_shard;
