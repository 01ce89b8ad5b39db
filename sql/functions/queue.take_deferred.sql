-- queue.take_deferred: hands out messages of noisy tenants that were passed over before, tenant by tenant, the one
-- with the fewest messages in flight first (source: SQS Developer Guide, "How Amazon SQS fair queues work").
-- Locks: rows of queue.deferred and of their leases, both skipped when locked. Index: deferred_pkey, lease_pkey.
-- Called by: receive_messages.
create or replace function queue.take_deferred(p_queue_id int, p_max int, p_visibility interval)
returns setof queue.delivery
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_want int := p_max;
    v_noisy text[] := (select n.noisy from queue.noise n where n.queue_id = p_queue_id);
    v_group text;
    v_part record;
    v_ids bigint[];
begin
    for v_group in
        select g.group_id from queue.deferred_groups(p_queue_id) g
        order by array_position(v_noisy, g.group_id) nulls first, g.group_id
    loop
        while v_want > 0 loop
            select d.deferred_at, d.shard, d.pos, d.ids as deferred, x.ids into v_part
            from queue.deferred d
            join queue.lease x on x.queue_id = d.queue_id and x.shard = d.shard and x.pos = d.pos
            where d.queue_id = p_queue_id and d.group_id = v_group
            order by d.deferred_at, d.shard, d.pos limit 1 for update skip locked;
            exit when not found;
            v_ids := array(select i from unnest(v_part.deferred) with ordinality u(i, n)
                           where i = any (v_part.ids) order by n limit v_want);
            update queue.lease x
            set ids = array(select i from unnest(x.ids) i where i <> all (v_ids)), gone = x.gone || v_ids,
                gone_at = x.gone_at || array_fill(null::timestamptz, array[cardinality(v_ids)])
            where x.queue_id = p_queue_id and x.shard = v_part.shard and x.pos = v_part.pos and v_ids <> '{}';
            if cardinality(v_ids) < v_want then     -- nothing of this part is left
                delete from queue.deferred d
                where d.queue_id = p_queue_id and d.group_id = v_group and d.deferred_at = v_part.deferred_at
                    and d.shard = v_part.shard and d.pos = v_part.pos;
            end if;
            return query select * from queue.hand_out(p_queue_id, v_part.shard, v_ids, v_now, p_visibility);
            v_want := v_want - cardinality(v_ids);
        end loop;
    end loop;
end $$;
