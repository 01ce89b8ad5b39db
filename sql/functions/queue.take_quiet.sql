-- queue.take_quiet: hands out messages of a shard that nobody has had yet, but passes over those of noisy tenants.
-- It looks at up to 5,000 messages, 200 at a time. What it passed over stays in the log, in a lease that is nobody's
-- and ends at 'infinity', and is listed in queue.deferred; take_deferred hands it out. The others go to the slow lane,
-- in flight from the start, since a lease covers all messages between its first and its last one.
-- The caller is the shard's reader. Index: log_pkey. Called by: take_shard.
create or replace function queue.take_quiet(
    p_queue_id int, p_shard int, p_pos bigint, p_max int, p_now timestamptz, p_visibility interval,
    p_watermark timestamptz, p_low bigint, p_noisy text[])
returns setof queue.delivery
language plpgsql as $$
declare
    v_pos bigint := p_pos;
    v_want int := p_max;
    v_chunk record;
begin
    for v_step in 1 .. 25 loop
        select max(c.id) as pos, array_agg(c.id order by c.id) filter (where not c.quiet) as noisy,
            array_agg(c.id order by c.id) filter (where c.quiet) as quiet, max(c.looked_at) as looked_at
        into v_chunk
        from (
            select s.id, s.quiet, count(*) filter (where s.quiet) over (order by s.id) as number,
                count(*) over () as looked_at
            from (select l.id, coalesce(l.system ->> 'MessageGroupId' <> all (p_noisy), true) as quiet
                  from queue.log l
                  where l.queue_id = p_queue_id and l.shard = p_shard and l.id > v_pos
                  order by l.id limit 200) s) c
        where c.number <= v_want;
        exit when v_chunk.pos is null;
        insert into queue.lease (pos, first_id, visible_at, watermark, low, queue_id, receive_count, shard, ids, gone,
            gone_at, has_tenants)
        values (v_chunk.pos, v_pos + 1, case when v_chunk.noisy is null then p_now else timestamptz 'infinity' end,
            p_watermark, p_low, p_queue_id, 0, p_shard, coalesce(v_chunk.noisy, '{}'), v_chunk.quiet,
            array_fill(null::timestamptz, array[coalesce(cardinality(v_chunk.quiet), 0)]), true);
        if v_chunk.noisy is not null then
            insert into queue.deferred (queue_id, group_id, deferred_at, shard, pos, ids)
            select p_queue_id, l.system ->> 'MessageGroupId', p_now, p_shard, v_chunk.pos, array_agg(l.id order by l.id)
            from queue.log l
            where l.queue_id = p_queue_id and l.shard = p_shard and l.id = any (v_chunk.noisy)
                and l.id > v_pos and l.id <= v_chunk.pos
            group by 2;
        end if;
        if v_chunk.quiet is not null then
            return query select * from queue.hand_out(p_queue_id, p_shard, v_chunk.quiet, p_now, p_visibility);
            v_want := v_want - cardinality(v_chunk.quiet);
        end if;
        v_pos := v_chunk.pos;
        exit when v_want <= 0 or v_chunk.looked_at < 200;
    end loop;
end $$;
