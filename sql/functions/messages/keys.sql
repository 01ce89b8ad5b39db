-- Keys of locks and of messages, and the isolation level that locks need.

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
--   Kind 10 locks the order of the events of all buses.
-- The upper 16 bits differ from the keys of other applications in the same database.
create or replace function queue.lock_key(p_kind int, p_queue_id int, p_shard int) returns bigint
language sql immutable parallel safe
return (x'5051'::bigint << 48) | (p_queue_id::bigint << 16) | (p_kind << 8) | p_shard;

-- queue.public_id: returns the number that identifies a message in the REST and SQL interfaces. In a public id `n`, `(n
-- & 255) - 2` is the shard, and `n >> 8` is the id. The number fits into a JavaScript number (< 2^53) up to 2^45
-- messages in a shard.
create or replace function queue.public_id(p_shard int, p_id bigint) returns bigint
language sql immutable parallel safe
return (p_id << 8) | (p_shard + 2);

-- queue.require_read_committed: refuses a transaction whose snapshot is older than its locks. A transaction with an
-- older snapshot would receive messages that other receivers already have. Sending works at every isolation level
-- (send_messages). Raises QU004 (isolation level other than READ COMMITTED).
create or replace function queue.require_read_committed() returns void
language plpgsql as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'messages can only be received and removed under READ COMMITTED' using errcode = 'QU004';
    end if;
end $$;
