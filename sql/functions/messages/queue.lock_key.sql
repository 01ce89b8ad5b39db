-- queue.lock_key(kind, queue, shard): returns the key of an advisory lock. The kinds are:
--   0: the writer of a shard.
--   1: the reader of a shard.
--   2: the count of a queue's messages in flight.
--   3: one of 256 sets of a queue's ReceiveRequestAttemptIds.
--   4: message groups of a FIFO topic.
--   5: the signing keys.
--   6: the first access key.
--   7: the poll slots of a Lambda function.
--   8: the SMS sandbox of an account.
--   9: the times of mails that ask recipients for confirmations.
-- The upper 16 bits differ from the keys of other applications in the same database.
create or replace function queue.lock_key(p_kind int, p_queue_id int, p_shard int) returns bigint
language sql immutable parallel safe
return (x'5051'::bigint << 48) | (p_queue_id::bigint << 16) | (p_kind << 8) | p_shard;
