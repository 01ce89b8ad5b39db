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
        with scanned as materialized (
            select l.id, l.system ->> 'MessageGroupId' as group_id,
                coalesce(l.system ->> 'MessageGroupId' <> all (p_noisy), true) as quiet
            from queue.log l
            where l.queue_id = p_queue_id and l.shard = p_shard and l.id > v_pos
            order by l.id limit 200),
        chunk as materialized (     -- up to the last one that is wanted, and the noise behind it
            select c.* from (
                select s.*, count(*) filter (where s.quiet) over (order by s.id) as number from scanned s) c
            where c.number <= v_want),
        total as materialized (
            select max(c.id) as pos, coalesce(array_agg(c.id order by c.id) filter (where not c.quiet), '{}') as noisy,
                coalesce(array_agg(c.id order by c.id) filter (where c.quiet), '{}') as quiet
            from chunk c),
        leased as (
            insert into queue.lease (pos, first_id, visible_at, watermark, low, queue_id, receive_count, shard, ids,
                gone, gone_at, has_tenants)
            select t.pos, v_pos + 1, case when t.noisy = '{}' then p_now else timestamptz 'infinity' end, p_watermark,
                p_low, p_queue_id, 0, p_shard, t.noisy, t.quiet,
                array_fill(null::timestamptz, array[cardinality(t.quiet)]), true
            from total t where t.pos is not null),
        passed_over as (
            insert into queue.deferred (queue_id, group_id, deferred_at, shard, pos, ids)
            select p_queue_id, c.group_id, p_now, p_shard, t.pos, array_agg(c.id order by c.id)
            from chunk c, total t where not c.quiet group by c.group_id, t.pos)
        select t.pos, t.quiet, (select count(*) from scanned) as looked_at into v_chunk from total t;
        exit when v_chunk.pos is null;
        if v_chunk.quiet <> '{}' then
            return query select * from queue.hand_out(p_queue_id, p_shard, v_chunk.quiet, p_now, p_visibility);
            v_want := v_want - cardinality(v_chunk.quiet);
        end if;
        v_pos := v_chunk.pos;
        exit when v_want <= 0 or v_chunk.looked_at < 200;
    end loop;
end $$;
