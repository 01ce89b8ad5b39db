-- queue.lock_reader_briefly: makes this transaction the reader of a shard. Returns false if another transaction stays
-- the reader for a quarter of a second. A transaction that reads for so long belongs to an application, because the
-- service's receives are shorter. Locks the reader until the end of the transaction.
create or replace function queue.lock_reader_briefly(p_key bigint) returns boolean
language plpgsql set lock_timeout = '250ms' as $$
begin
    perform pg_advisory_xact_lock(p_key);
    return true;
exception when lock_not_available then
    return false;
end $$;
