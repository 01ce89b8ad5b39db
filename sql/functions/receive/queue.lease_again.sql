-- queue.lease_again: receives the first p_want messages of an existing lease again. The messages move to new leases of
-- at most p_lease_size messages. The key of a new lease is the lease's last id. If the function receives all of the
-- lease's messages, the last messages keep the lease. Records acknowledged messages in the history. The caller is the
-- shard's reader and has locked the lease's row. `p_now` is above the shard's watermark.
-- This file also contains record_acknowledged.
create or replace function queue.lease_again(
    p_lease queue.lease, p_want int, p_lease_size int, p_now timestamptz, p_visibility interval)
returns setof queue.received_row
language plpgsql as $$
declare
    v_ids bigint[] := p_lease.ids[1:p_want];
    v_gone_at timestamptz[] := p_lease.gone_at;
    v_all boolean := v_ids = p_lease.ids;
    -- This is the number of messages that move to new leases. If the receive takes all messages, the last messages keep
    -- this lease.
    v_split int := cardinality(v_ids);
    -- The handles of the previous receive stay valid.
    v_nonce int := p_lease.nonce;
    v_first_received_at timestamptz := coalesce(p_lease.first_received_at, p_now);
    -- A receive count of 0 means that a receive has deferred the messages (take_fair).
    v_redelivered_at timestamptz[] := case when p_lease.receive_count > 0
        then queue.add_redelivery(p_lease.redelivered_at, p_now) end;
begin
    if array_remove(p_lease.gone_at, null) <> '{}' then
        v_gone_at := queue.record_acknowledged(p_lease.queue_id, p_lease.shard, p_lease);
    end if;
    if v_all then
        v_split := (v_split - 1) / p_lease_size * p_lease_size;
    end if;
    if v_split > 0 then
        insert into queue.lease (pos, first_id, visible_at, first_received_at, watermark, low, queue_id, receive_count,
            shard, nonce, ids, gone, gone_at, redelivered_at)
        select p.pos, p.first_id, p_now + p_visibility, v_first_received_at, '-infinity', 0, p_lease.queue_id,
            p_lease.receive_count + 1, p_lease.shard, v_nonce, p.ids, g.ids, g.at, v_redelivered_at
        from (
            select max(u.id) as pos,
                coalesce(lag(max(u.id)) over (order by max(u.id)) + 1, p_lease.first_id) as first_id,
                array_agg(u.id order by u.id) as ids
            from unnest(v_ids[1:v_split]) with ordinality u(id, n) group by (u.n - 1) / p_lease_size) p
        cross join lateral (        -- Ids in `gone` without a time belong to other leases.
            select array_agg(o.id) as ids, array_agg(null::timestamptz) as at from unnest(p_lease.gone) o(id)
            where o.id between p.first_id and p.pos) g;
    end if;
    update queue.lease x
    set ids = p_lease.ids[v_split + 1 :], gone_at = v_gone_at, nonce = v_nonce,
        first_id = case when v_split > 0 then v_ids[v_split] + 1 else x.first_id end,
        visible_at = case when v_all then p_now + p_visibility else x.visible_at end,
        receive_count = x.receive_count + v_all::int,
        redelivered_at = case when v_all then v_redelivered_at else x.redelivered_at end,
        first_received_at = case when v_all then v_first_received_at else x.first_received_at end
    where x.queue_id = p_lease.queue_id and x.shard = p_lease.shard and x.pos = p_lease.pos;
    return query
    select d.* from unnest(v_ids) with ordinality u(id, n)
    join queue.log l on l.queue_id = p_lease.queue_id and l.shard = p_lease.shard and l.id = u.id
    cross join lateral queue.build_received_row(l,
        case when u.n <= v_split then v_ids[least(((u.n - 1) / p_lease_size + 1) * p_lease_size, v_split)]
            else p_lease.pos end,
        p_lease.receive_count + 1, v_first_received_at, p_now + p_visibility, v_nonce) d
    order by u.n;
end $$;

-- queue.record_acknowledged: records the acknowledged messages of a lease in the history. The caller then receives the
-- lease's other messages again. Returns the lease's new gone_at, in which every element is null. The caller has locked
-- the lease's row.
create or replace function queue.record_acknowledged(p_queue_id int, p_shard int, p_lease queue.lease)
returns timestamptz[]
language plpgsql as $$
begin
    insert into queue.history (queue_id, outcome, receive_count, first_received_at, redelivered_at, entered_by,
        group_ids, sent_at, finished_at)
    select p_queue_id, e.outcome, p_lease.receive_count, p_lease.first_received_at, p_lease.redelivered_at,
        f.entered_by, case when count(f.group_id) > 0 then array_agg(f.group_id) end, array_agg(f.sent_at),
        array_agg(e.finished_at)
    from (
        select l.sent_at, l.system ->> 'MessageGroupId' as group_id, queue.entered_by(l.system) as entered_by,
            p_lease.gone_at[array_position(p_lease.gone, l.id)] as finished_at
        from queue.log l
        where l.queue_id = p_queue_id and l.shard = p_shard and l.id = any (p_lease.gone)
            and l.id between p_lease.first_id and p_lease.pos) f     -- This condition limits the index scan.
    cross join lateral queue.ending(
        p_queue_id, 'deleted', f.sent_at, null, p_lease.first_received_at, f.finished_at) e
    where f.finished_at is not null and (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id)
    group by e.outcome, f.entered_by;
    perform queue.count_late_deletions(p_lease);
    return array_fill(null::timestamptz, array[cardinality(p_lease.gone)]);
end $$;
