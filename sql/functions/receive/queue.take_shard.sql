-- queue.take_shard: hands out up to p_max messages of one shard: those of expired leases first, then those that were
-- never handed out. The caller is the shard's reader. A shard's time never falls behind its watermark, even when the
-- clock goes back. p_shards: the queue's number of shards, when messages of noisy tenants are to be skipped; null: none
-- are skipped.
-- Index: lease_pkey, lease_visible_at, log_pkey.
create or replace function queue.take_shard(
    p_queue_id int, p_shard int, p_max int, p_lease_size int, p_visibility interval, p_max_receive_count int,
    p_dead_letter_arn text, p_shards int)
returns setof queue.received_row
language plpgsql as $$
declare
    v_cursor record;
    v_now timestamptz;
    v_watermark timestamptz;
    v_low bigint;
    v_want int := p_max;
    v_rows int;
    v_noisy text[];
    v_nonce int := queue.lease_nonce();
begin
    select c.pos, c.watermark, c.low, c.has_tenants into v_cursor from queue.lease c
    where c.queue_id = p_queue_id and c.shard = p_shard order by c.pos desc limit 1;
    v_now := greatest(clock_timestamp(), v_cursor.watermark + interval '1 microsecond');
    v_watermark := v_now - interval '1 microsecond';
    if exists (select from queue.lease x
               where queue.time_key(x.queue_id, x.shard) = queue.time_key(p_queue_id, p_shard)
                   and x.visible_at > v_cursor.watermark and x.visible_at <= v_watermark and x.ids <> '{}') then
        return query select * from queue.take_expired(p_queue_id, p_shard, v_cursor.watermark, v_now, v_want,
            p_visibility, p_max_receive_count, p_dead_letter_arn);
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
        v_watermark := v_cursor.watermark;      -- it must not pass a lease that is left; a later receive moves it
    end if;
    if v_want <= 0 then
        return;
    end if;
    v_low := v_cursor.low;
    if v_cursor.pos - v_low > 2000 and v_cursor.pos % 2000 < v_want then
        v_low := queue.clean_shard(p_queue_id, p_shard, v_low, v_cursor.pos);
    end if;
    if v_cursor.has_tenants and p_shards is not null then
        v_noisy := queue.noisy_groups(p_queue_id, p_shards, p_shard, v_cursor.pos, v_want, v_now);
    end if;
    if v_noisy is not null then
        return query select * from queue.take_fair(p_queue_id, p_shard, v_cursor.pos, v_want, p_lease_size, v_now,
            p_visibility, v_watermark, v_low, v_noisy);
    else
        return query
        with fresh as materialized (
            select l.* from queue.log l
            where l.queue_id = p_queue_id and l.shard = p_shard and l.id > v_cursor.pos
            order by l.id limit v_want),
        taken as materialized (
            select array_agg(f.id order by f.id) as ids, least(p_lease_size, count(*))::int as size,
                bool_or(f.system ? 'MessageGroupId') as has_tenants
            from fresh f),
        leased as (
            insert into queue.lease (pos, first_id, visible_at, first_received_at, watermark, low, queue_id,
                receive_count, shard, nonce, ids, has_tenants)
            select p.ids[cardinality(p.ids)], p.ids[1], v_now + p_visibility, v_now, v_watermark, v_low, p_queue_id, 1,
                p_shard, v_nonce, p.ids, p.has_tenants
            from (
                select t.ids[s.n : s.n + t.size - 1] as ids, t.has_tenants
                from taken t cross join lateral generate_series(1, cardinality(t.ids), t.size) s(n)) p)
        select d.* from taken t cross join fresh f
        cross join lateral queue.delivery_row(f::queue.log,
            t.ids[least((width_bucket(f.id, t.ids) + t.size - 1) / t.size * t.size, cardinality(t.ids))], 1, v_now,
            v_now + p_visibility, v_nonce) d;
    end if;
    if not found and v_low > v_cursor.low then
        update queue.lease x set low = v_low
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = v_cursor.pos;
    end if;
end $$;
