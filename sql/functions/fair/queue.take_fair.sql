-- queue.take_fair: hands out messages of a shard that were never handed out, but skips those of noisy tenants.
-- It reads up to 5,000 messages, 200 at a time. Skipped messages stay in the log, those of each tenant in a lease
-- without a receiver, which ends at 'infinity' and is listed in queue.deferred; take_deferred hands it out. The other
-- messages are leased as usual, at most p_lease_size together. The ranges of these leases overlap, so each lists the
-- ids in its range that are not its own in `gone`, without a time: they are recorded with their own lease. The caller
-- is the shard's reader. Index: log_pkey.
create or replace function queue.take_fair(
    p_queue_id int, p_shard int, p_pos bigint, p_max int, p_lease_size int, p_now timestamptz, p_visibility interval,
    p_watermark timestamptz, p_low bigint, p_noisy text[])
returns setof queue.received_row
language plpgsql as $$
declare
    v_pos bigint := p_pos;
    v_want int := p_max;
    v_next bigint;
    v_rows int;
    v_nonce int := queue.lease_nonce();
begin
    for v_step in 1 .. 25 loop
        return query
        with scanned as materialized (      -- without bodies, which would be copied from step to step
            select l.id, l.system ->> 'MessageGroupId' as group_id
            from queue.log l
            where l.queue_id = p_queue_id and l.shard = p_shard and l.id > v_pos
            order by l.id limit 200),
        chunk as materialized (     -- up to the last wanted message, and noisy tenants' messages behind it
            select c.id, c.group_id, c.quiet, (c.number - 1) / p_lease_size as part from (
                select s.*, count(*) filter (where s.quiet) over (order by s.id) as number from (
                    select n.id, n.group_id, coalesce(n.group_id <> all (p_noisy), true) as quiet from scanned n) s) c
            where c.number <= v_want),
        lease as materialized (
            select max(c.id) as pos, min(c.id) as first_id, p_now + p_visibility as visible_at, p_now as received_at,
                1 as receive_count, null as group_id, array_agg(c.id order by c.id) as ids
            from chunk c where c.quiet group by c.part
            union all
            select max(c.id), min(c.id), 'infinity', null, 0, c.group_id, array_agg(c.id order by c.id)
            from chunk c where not c.quiet group by c.group_id),
        leased as (
            insert into queue.lease (pos, first_id, visible_at, first_received_at, watermark, low, queue_id,
                receive_count, shard, nonce, ids, gone, gone_at, has_tenants)
            select e.pos, e.first_id, e.visible_at, e.received_at, p_watermark, p_low, p_queue_id, e.receive_count,
                p_shard, v_nonce, e.ids, o.gone, o.gone_at, true
            from lease e
            cross join lateral (
                select array_agg(g.id) as gone, array_agg(null::timestamptz) as gone_at
                from chunk g where g.id between e.first_id and e.pos and g.id <> all (e.ids)) o),
        passed_over as (
            insert into queue.deferred (queue_id, group_id, deferred_at, shard, pos, ids)
            select p_queue_id, e.group_id, p_now, p_shard, e.pos, e.ids from lease e where e.receive_count = 0)
        select d.* from (select k.id, max(k.id) over (partition by k.part) as pos from chunk k where k.quiet) c
        join queue.log l on l.queue_id = p_queue_id and l.shard = p_shard and l.id = c.id
        cross join lateral queue.delivery_row(l, c.pos, 1, p_now, p_now + p_visibility, v_nonce) d
        order by c.id;
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
        exit when v_want <= 0;
        select c.pos into v_next from queue.lease c
        where c.queue_id = p_queue_id and c.shard = p_shard order by c.pos desc limit 1;
        exit when v_next = v_pos;       -- the end of the log
        v_pos := v_next;
    end loop;
end $$;
