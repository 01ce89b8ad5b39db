-- queue.take_log: hands out messages of the log, shard by shard, and skips shards that another receiver reads.
-- When all shards with messages have a reader it waits for one of them, a quarter of a second at most, but only while
-- this transaction holds no lock that the reader of a shard could wait for: it has locked no row yet (so it has no
-- transaction id), and reads no shard (the setting queue.reads, which ends with it). So it cannot deadlock.
-- p_fair: messages of noisy tenants are skipped.
-- Locks: advisory, reader of the shard, to the end of the transaction.
create or replace function queue.take_log(
    p_queue_id int, p_shards int, p_max int, p_lease_size int, p_visibility interval, p_max_receive_count int,
    p_dead_letter_arn text, p_fair boolean default true)
returns setof queue.received_row
language plpgsql as $$
declare
    v_shards int[];
    v_shard int;
    v_want int := p_max;
    v_rows int;
    v_held boolean := false;
    v_fair_shards int := case when p_fair then p_shards end;
    v_now timestamptz := clock_timestamp();
begin
    if p_shards = 1 then
        v_shards := array[0];
    else
        v_shards := array(select b.shard from queue.ready_shards(p_queue_id, p_shards, v_now) b);
    end if;
    foreach v_shard in array v_shards loop
        exit when v_want <= 0;
        if pg_try_advisory_xact_lock(queue.lock_key(1, p_queue_id, v_shard)) then
            v_held := true;
            perform set_config('queue.reads', 'on', true);
            return query select * from queue.take_shard(p_queue_id, v_shard, v_want, p_lease_size, p_visibility,
                p_max_receive_count, p_dead_letter_arn, v_fair_shards);
            get diagnostics v_rows = row_count;
            v_want := v_want - v_rows;
        end if;
    end loop;
    if not v_held and cardinality(v_shards) > 0 and pg_current_xact_id_if_assigned() is null
        and coalesce(current_setting('queue.reads', true), '') <> 'on'
        and queue.lock_reader_briefly(queue.lock_key(1, p_queue_id, v_shards[1]))
    then
        perform set_config('queue.reads', 'on', true);
        return query select * from queue.take_shard(p_queue_id, v_shards[1], v_want, p_lease_size, p_visibility,
            p_max_receive_count, p_dead_letter_arn, v_fair_shards);
    end if;
end $$;
