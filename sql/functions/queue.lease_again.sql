-- queue.lease_again(lease, want, now, visibility): hands out the first p_want messages that are left in a lease. A lease
-- larger than that is split; each part is keyed by its own last id. What was acknowledged before the others is recorded.
-- The caller is the shard's reader and holds the lease's row; p_now is above the shard's watermark.
-- Index: lease_pkey, log_pkey. Called by: take_expired, take_deferred.
create or replace function queue.lease_again(
    p_lease queue.lease, p_want int, p_now timestamptz, p_visibility interval)
returns setof queue.delivery
language plpgsql as $$
declare
    v_ids bigint[] := p_lease.ids[1:p_want];
    v_pos bigint := p_lease.pos;
    v_gone_at timestamptz[] := p_lease.gone_at;
    v_first_received_at timestamptz := coalesce(p_lease.first_received_at, p_now);
begin
    if p_lease.gone is not null then
        v_gone_at := queue.record_gone(p_lease.queue_id, p_lease.shard, p_lease);
    end if;
    if v_ids = p_lease.ids then
        update queue.lease x
        set visible_at = p_now + p_visibility, receive_count = x.receive_count + 1,
            first_received_at = v_first_received_at, gone_at = v_gone_at
        where x.queue_id = p_lease.queue_id and x.shard = p_lease.shard and x.pos = v_pos;
    else
        v_pos := v_ids[cardinality(v_ids)];
        insert into queue.lease (pos, first_id, visible_at, first_received_at, watermark, low, queue_id,
            receive_count, shard, ids, gone, gone_at)
        values (v_pos, p_lease.first_id, p_now + p_visibility, v_first_received_at, '-infinity', 0, p_lease.queue_id,
            p_lease.receive_count + 1, p_lease.shard, v_ids, p_lease.gone, v_gone_at);
        update queue.lease x
        set ids = p_lease.ids[cardinality(v_ids) + 1 :], first_id = v_pos + 1, gone_at = v_gone_at
        where x.queue_id = p_lease.queue_id and x.shard = p_lease.shard and x.pos = p_lease.pos;
    end if;
    return query
    select null::text, null::int, p_lease.queue_id, p_lease.shard, v_pos, l.id, p_lease.receive_count + 1,
        l.message_id::text, queue.epoch_ms(l.sent_at), queue.epoch_ms(v_first_received_at), l.body,
        l.attributes::text, l.system::text, queue.public_id(p_lease.shard, l.id),
        queue.epoch_ms(p_now + p_visibility)
    from queue.log l
    where l.queue_id = p_lease.queue_id and l.shard = p_lease.shard and l.id = any (v_ids)
        and l.id between v_ids[1] and v_ids[cardinality(v_ids)]    -- an array alone may be a filter
    order by l.id;
end $$;
