-- queue.take_expired: hands out again the messages of a shard's leases that ended in (p_after, p_now); messages that
-- were received p_max_receive_count times go to the dead-letter queue instead. A lease larger than what is wanted is
-- split; each part is keyed by its own last id. A lease that somebody acknowledges right now is passed over.
-- The caller is the shard's reader. Index: lease_visible_at. Called by: take_shard.
create or replace function queue.take_expired(
    p_queue_id int, p_shard int, p_after timestamptz, p_now timestamptz, p_max int, p_visibility interval,
    p_max_receive_count int, p_dead_letter_arn text)
returns setof queue.delivery
language plpgsql as $$
declare
    v_lease queue.lease;
    v_want int := p_max;
    v_part bigint[];
    v_pos bigint;
begin
    for v_lease in
        select * from queue.lease x
        where queue.time_key(x.queue_id, x.shard) = queue.time_key(p_queue_id, p_shard)
            and x.visible_at > p_after and x.visible_at < p_now and x.ids <> '{}'
        order by x.visible_at, x.pos limit p_max + 100 for update skip locked
    loop
        exit when v_want <= 0;
        if v_lease.receive_count >= p_max_receive_count
            and queue.dead_letter(p_queue_id, p_shard, v_lease, p_dead_letter_arn) then
            continue;
        end if;
        if v_lease.gone is not null then
            v_lease.gone_at := queue.record_gone(p_queue_id, p_shard, v_lease);
        end if;
        v_part := v_lease.ids[1:v_want];
        v_want := v_want - cardinality(v_part);
        if v_part = v_lease.ids then
            v_pos := v_lease.pos;
            update queue.lease x
            set visible_at = p_now + p_visibility, receive_count = x.receive_count + 1,
                first_received_at = coalesce(x.first_received_at, p_now), gone_at = v_lease.gone_at
            where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = v_lease.pos;
        else
            v_pos := v_part[cardinality(v_part)];
            insert into queue.lease (pos, first_id, visible_at, first_received_at, watermark, low, queue_id,
                receive_count, shard, ids, gone, gone_at)
            values (v_pos, v_lease.first_id, p_now + p_visibility, coalesce(v_lease.first_received_at, p_now), '-infinity', 0,
                p_queue_id, v_lease.receive_count + 1, p_shard, v_part, v_lease.gone, v_lease.gone_at);
            update queue.lease x
            set ids = v_lease.ids[cardinality(v_part) + 1 :], first_id = v_pos + 1, gone_at = v_lease.gone_at
            where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = v_lease.pos;
        end if;
        return query
        select null::text, null::int, p_queue_id, p_shard::smallint, v_pos, l.id, v_lease.receive_count + 1,
            l.message_id::text, queue.epoch_ms(l.sent_at), queue.epoch_ms(coalesce(v_lease.first_received_at, p_now)), l.body,
            l.attributes::text, l.system::text, queue.public_id(p_shard, l.id),
            queue.epoch_ms(p_now + p_visibility)
        from queue.log l
        where l.queue_id = p_queue_id and l.shard = p_shard and l.id = any (v_part)
            and l.id between v_part[1] and v_part[cardinality(v_part)]    -- an array alone may be a filter
        order by l.id;
    end loop;
end $$;
