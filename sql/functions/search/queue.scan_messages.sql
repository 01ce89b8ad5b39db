-- queue.scan_messages: returns the next p_limit messages of a queue in any state, without receiving them. For a
-- standard queue, the order is by shard and id, and messages from other queues come first. For a FIFO queue, the order
-- is by group. `p_after` is the place (shard:id:group) of the last message of the previous part. Null means the
-- beginning. A scan returns each message exactly once, even if the message is received, hidden or made visible during
-- the scan. Omits messages whose retention is over. Takes no lock. Uses the indexes log_pkey, lease_pkey, side_pkey,
-- fifo_group_queue_id_group_id_key and fifo_message_of_group.
create or replace function queue.scan_messages(p_queue_id int, p_after text, p_limit int)
returns setof queue.scanned_message
language plpgsql stable as $$
#variable_conflict use_column
declare
    v_queue queue.queues;
    v_shard int := coalesce(split_part(p_after, ':', 1)::int, queue.side_shard());
    v_id bigint := coalesce(split_part(p_after, ':', 2)::bigint, 0);
    v_group text := coalesce(
        substr(p_after, length(split_part(p_after, ':', 1)) + length(split_part(p_after, ':', 2)) + 3), '');
    v_left int := p_limit;
    v_rows int;
    v_before timestamptz;
begin
    select * into v_queue from queue.queues q where q.queue_id = p_queue_id;
    v_before := clock_timestamp() - v_queue.retention_seconds * interval '1 second';
    -- FIFO queues: group by group
    if v_queue.fifo then
        return query
        select queue.fifo_shard(), m.id, g.group_id, m.receive_count, m.message_id, m.sent_at, m.sent_at, m.visible_at,
            m.body, m.attributes, m.system || jsonb_build_object('MessageDeduplicationId', m.deduplication_id)
        from (select * from queue.fifo_group k
              where k.queue_id = p_queue_id and k.group_id >= v_group order by k.group_id) g
        cross join lateral (
            select * from queue.fifo_message f
            where f.group_key = g.group_key and f.group_key > 0
                and f.id > case when g.group_id = v_group then v_id else 0 end and f.sent_at >= v_before
            order by f.id limit p_limit) m
        limit p_limit;
        return;
    end if;
    -- Standard queues: shard by shard
    while v_left > 0 and v_shard < v_queue.shards loop
        return query
        with top as materialized (
            select x.pos, x.low from queue.lease x
            where x.queue_id = p_queue_id and x.shard = v_shard order by x.pos desc limit 1),
        leased as (
            select h.id, x.receive_count, x.visible_at
            from top t
            join queue.lease x on x.queue_id = p_queue_id and x.shard = v_shard
                and x.pos > greatest(t.low, v_id) and x.ids <> '{}'
            cross join lateral unnest(x.ids) h(id)
            where h.id > v_id and exists (
                select from queue.log l
                where l.queue_id = p_queue_id and l.shard = v_shard and l.id = h.id and l.sent_at >= v_before)
            order by h.id limit v_left)
        select v_shard, m.id, m.system ->> 'MessageGroupId', m.receive_count, m.message_id, m.sent_at, m.entered_at,
            m.visible_at, m.body, m.attributes, m.system
        from (
            (select l.id, 0 as receive_count, l.message_id, l.sent_at, l.sent_at as entered_at, l.sent_at as visible_at,
                l.body, l.attributes, l.system
            from top t cross join lateral (
                select * from queue.log k
                where k.queue_id = p_queue_id and k.shard = v_shard and k.id > greatest(t.pos, v_id)
                    and k.sent_at >= v_before
                order by k.id limit v_left) l)
            union all
            (select l.id, h.receive_count, l.message_id, l.sent_at, l.sent_at,
                case when h.visible_at = 'infinity' then l.sent_at else h.visible_at end, l.body, l.attributes, l.system
            from leased h join queue.log l on l.queue_id = p_queue_id and l.shard = v_shard and l.id = h.id)
            union all
            (select s.id, s.receive_count, s.message_id, s.sent_at, coalesce(s.entered_at, s.sent_at), s.visible_at,
                s.body, s.attributes, s.system
            from queue.side s
            where s.queue_id = p_queue_id and s.shard = v_shard and s.id > v_id and s.sent_at >= v_before
            order by s.id limit v_left)) m
        order by m.id limit v_left;
        get diagnostics v_rows = row_count;
        v_left := v_left - v_rows;
        v_shard := v_shard + 1;
        v_id := 0;
    end loop;
end $$;
