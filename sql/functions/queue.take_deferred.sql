-- queue.take_deferred: hands out messages of noisy tenants that were passed over before, tenant by tenant, the one
-- with the fewest messages in flight first (source: SQS Developer Guide, "How Amazon SQS fair queues work").
-- Locks: rows of queue.deferred and of their leases, both skipped when locked. Index: deferred_pkey, lease_pkey.
-- It hands out later than the receive began, whatever the clock does (take_side). Called by: receive_messages.
drop function if exists queue.take_deferred(int, int, interval);
create or replace function queue.take_deferred(
    p_queue_id int, p_max int, p_begun timestamptz, p_visibility interval)
returns setof queue.delivery
language plpgsql as $$
declare
    v_now timestamptz := greatest(clock_timestamp(), p_begun + interval '1 microsecond');
    v_want int := p_max;
    v_limit int;                    -- parts that are enough, as it seems: what is locked here nobody else gets
    v_noisy text[] := (select n.noisy from queue.noise n where n.queue_id = p_queue_id);
    v_group text;
    v_parts record;
    v_part record;
begin
    for v_group in
        select g.group_id from queue.deferred_groups(p_queue_id) g
        order by array_position(v_noisy, g.group_id) nulls first, g.group_id
    loop
        while v_want > 0 loop
            select count(*)::int into v_limit from (
                select sum(cardinality(d.ids)) over (order by d.deferred_at, d.shard, d.pos) - cardinality(d.ids) as before
                from (select * from queue.deferred d
                      where d.queue_id = p_queue_id and d.group_id = v_group
                      order by d.deferred_at, d.shard, d.pos limit least(v_want, 200)) d) k
            where k.before < v_want;
            with part as materialized (
                select d.deferred_at, d.shard, d.pos, d.ids as deferred, x.ids
                from queue.deferred d
                join queue.lease x on x.queue_id = d.queue_id and x.shard = d.shard and x.pos = d.pos
                where d.queue_id = p_queue_id and d.group_id = v_group
                order by d.deferred_at, d.shard, d.pos limit v_limit for update skip locked),
            message as (        -- the first v_want of those that are left
                select m.* from (
                    select p.deferred_at, p.shard, p.pos, u.id,
                        row_number() over (order by p.deferred_at, p.shard, p.pos, u.n) as number
                    from part p cross join unnest(p.deferred) with ordinality u(id, n)
                    where u.id = any (p.ids)) m
                where m.number <= v_want),
            done as (           -- parts of which nothing is left
                select p.deferred_at, p.shard, p.pos from part p
                where (select count(*) from message m where m.shard = p.shard and m.pos = p.pos)
                    = (select count(*) from unnest(p.deferred) i where i = any (p.ids)))
            select (select count(*)::int from part) as parts,
                array(select m.shard from message m order by m.number) as shards,
                array(select m.pos from message m order by m.number) as positions,
                array(select m.id from message m order by m.number) as ids,
                array(select d.deferred_at from done d) as done_at, array(select d.shard from done d) as done_shards,
                array(select d.pos from done d) as done_positions
            into v_parts;
            exit when v_parts.parts = 0;
            update queue.lease x
            set ids = array(select i from unnest(x.ids) i where i <> all (m.ids)), gone = x.gone || m.ids,
                gone_at = x.gone_at || array_fill(null::timestamptz, array[cardinality(m.ids)])
            from (select u.shard, u.pos, array_agg(u.id order by u.id) as ids
                  from unnest(v_parts.shards, v_parts.positions, v_parts.ids) u(shard, pos, id)
                  group by u.shard, u.pos) m
            where x.queue_id = p_queue_id and x.shard = m.shard and x.pos = m.pos;
            delete from queue.deferred d
            using unnest(v_parts.done_at, v_parts.done_shards, v_parts.done_positions) u(deferred_at, shard, pos)
            where d.queue_id = p_queue_id and d.group_id = v_group and d.deferred_at = u.deferred_at
                and d.shard = u.shard and d.pos = u.pos;
            for v_part in
                select u.shard, array_agg(u.id order by u.id) as ids
                from unnest(v_parts.shards, v_parts.ids) u(shard, id) group by u.shard
            loop
                return query select * from queue.hand_out(p_queue_id, v_part.shard, v_part.ids, v_now, p_visibility);
            end loop;
            v_want := v_want - cardinality(v_parts.ids);
        end loop;
    end loop;
end $$;
