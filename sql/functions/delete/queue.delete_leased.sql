-- queue.delete_leased: removes messages from a lease. Returns the ids that were in the lease. `p_ids` is in ascending
-- order. The lease must have the nonce p_nonce. The function clean_shard later deletes the messages' rows from the log,
-- together with neighbouring rows. Locks the lease's row.
create or replace function queue.delete_leased(
    p_queue_id int, p_shard int, p_pos bigint, p_nonce int, p_ids bigint[], p_archives boolean)
returns bigint[]
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_deleted bigint[];
    v_receive_count int;
begin
    update queue.lease x set ids = '{}', done_at = v_now
    where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = p_pos and x.nonce = p_nonce
        and x.ids = p_ids
    returning x.receive_count into v_receive_count;
    if found then                       -- In the usual case, p_ids are all messages of the lease.
        v_deleted := p_ids;
    else
        update queue.lease x
        set ids = array(select i from unnest(x.ids) i where i <> all (p_ids)),
            gone = x.gone || array(select i from unnest(x.ids) i where i = any (p_ids)),
            gone_at = x.gone_at || array(select v_now from unnest(x.ids) i where i = any (p_ids)),
            done_at = case when x.ids <@ p_ids then v_now end
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = p_pos and x.nonce = p_nonce
            and x.ids && p_ids          -- A lock on a finished lease would delay clean_shard.
        returning array(
            select u.id from unnest(x.gone, x.gone_at) u(id, at) where u.at = v_now and u.id = any (p_ids)),
            x.receive_count
        into v_deleted, v_receive_count;
        v_deleted := coalesce(v_deleted, '{}');
    end if;
    if p_archives and v_deleted <> '{}' then
        insert into queue.archive overriding user value
        select r.* from queue.log l
        cross join lateral jsonb_populate_record(null::queue.archive, to_jsonb(l) || jsonb_build_object(
            'public_id', queue.public_id(p_shard, l.id), 'archived_at', clock_timestamp(),
            'receive_count', v_receive_count)) r
        where l.queue_id = p_queue_id and l.shard = p_shard and l.id = any (v_deleted)
            -- This condition limits the index scan.
            and l.id between v_deleted[1] and v_deleted[cardinality(v_deleted)];
    end if;
    return v_deleted;
end $$;
