-- queue.claim_shard(queue, shards): makes this transaction the writer of a shard, and returns its number, or -1 when
-- all shards have a writer. Returns at once: a sender never waits for another one. Under REPEATABLE READ the log's end
-- cannot be seen: -1. Locks: advisory, writer of the shard, to the end of the transaction.
create or replace function queue.claim_shard(p_queue_id int, p_shards int) returns int
language plpgsql as $$
declare
    v_first int := pg_backend_pid();
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        return -1;
    end if;
    for v_step in 0 .. p_shards - 1 loop
        if pg_try_advisory_xact_lock(queue.lock_key(0, p_queue_id, (v_first + v_step) % p_shards)) then
            return (v_first + v_step) % p_shards;
        end if;
    end loop;
    return -1;
end $$;
