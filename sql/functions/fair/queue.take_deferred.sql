-- queue.take_deferred: hands out messages of noisy tenants that were skipped before, tenant by tenant, first those of
-- the tenant with the fewest messages in flight (source: SQS Developer Guide, "How Amazon SQS fair queues work"). The
-- receiver gets the lease that take_fair made without a receiver, or its first messages. It skips a shard that another
-- receiver reads; like take_log, it waits for that receiver only while this transaction holds no lock that a reader
-- could wait for.
-- Locks: advisory, readers of the shards; rows of leases, skipped when locked.
-- Index: deferred_pkey, lease_pkey.
-- The time of handing out is later than the time at which the receive began, even when the clock goes back (take_side).
create or replace function queue.take_deferred(
    p_queue_id int, p_max int, p_lease_size int, p_begun timestamptz, p_visibility interval)
returns setof queue.received_row
language plpgsql as $$
declare
    v_now timestamptz := greatest(clock_timestamp(), p_begun + interval '1 microsecond');
    v_want int := p_max;
    v_noisy text[] := (select n.noisy from queue.noise n where n.queue_id = p_queue_id);
    v_group text;
    v_deferred record;
    v_lease queue.lease;
    v_key bigint;
    v_at timestamptz;       -- above the shard's watermark
    v_rows int;
begin
    for v_group in
        select g.group_id from queue.deferred_groups(p_queue_id) g
        order by array_position(v_noisy, g.group_id) nulls first, g.group_id
    loop
        for v_deferred in
            select d.deferred_at, d.shard, d.pos from queue.deferred d
            where d.queue_id = p_queue_id and d.group_id = v_group
            order by d.deferred_at, d.shard, d.pos limit least(v_want, 200)
        loop
            exit when v_want <= 0;
            v_key := queue.lock_key(1, p_queue_id, v_deferred.shard);
            if not pg_try_advisory_xact_lock(v_key) then
                continue when v_want < p_max or pg_current_xact_id_if_assigned() is not null
                    or current_setting('queue.reads', true) = 'on' or not queue.lock_reader_briefly(v_key);
            end if;
            perform set_config('queue.reads', 'on', true);
            select greatest(v_now, c.watermark + interval '1 microsecond') into v_at from queue.lease c
            where c.queue_id = p_queue_id and c.shard = v_deferred.shard order by c.pos desc limit 1;
            select x.* into v_lease from queue.lease x
            where x.queue_id = p_queue_id and x.shard = v_deferred.shard and x.pos = v_deferred.pos
                and x.visible_at = 'infinity' and x.ids <> '{}'
            for update skip locked;
            if found then       -- else: handed out, deleted or purged since, or locked by a consumer that acknowledges
                return query select * from queue.lease_again(v_lease, v_want, p_lease_size, v_at, p_visibility);
                get diagnostics v_rows = row_count;
                v_want := v_want - v_rows;
            end if;
            delete from queue.deferred d
            where d.queue_id = p_queue_id and d.group_id = v_group and d.deferred_at = v_deferred.deferred_at
                and d.shard = v_deferred.shard and d.pos = v_deferred.pos
                and not exists (
                    select from queue.lease x
                    where x.queue_id = p_queue_id and x.shard = v_deferred.shard and x.pos = v_deferred.pos
                        and x.visible_at = 'infinity' and x.ids <> '{}');
        end loop;
    end loop;
end $$;
