-- queue.lock_key: returns the key of an advisory lock.
--   Kind 0 locks the writer of a shard.
--   Kind 1 locks the reader of a shard.
--   Kind 2 locks the count of a queue's messages in flight.
--   Kind 3 locks one of 256 sets of a queue's ReceiveRequestAttemptIds.
--   Kind 4 locks message groups of a FIFO topic.
--   Kind 5 locks the signing keys.
--   Kind 6 locks the creation of the first access key.
--   Kind 7 locks the poll slots of a Lambda function.
--   Kind 8 locks the SMS sandbox of an account.
--   Kind 9 locks the times of mails that ask recipients for confirmations.
-- The upper 16 bits differ from the keys of other applications in the same database.
create or replace function queue.lock_key(p_kind int, p_queue_id int, p_shard int) returns bigint
language sql immutable parallel safe
return (x'5051'::bigint << 48) | (p_queue_id::bigint << 16) | (p_kind << 8) | p_shard;
