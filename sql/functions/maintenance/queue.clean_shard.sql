-- queue.clean_shard(queue, shard, low, pos): deletes all finished messages of a shard above p_low up to the first
-- unfinished one, and records them in the history. Returns the id up to which the shard is clean now.
-- It cleans whole leases. The leases of one receive that skipped noisy tenants overlap, and are cleaned together
-- (take_fair). The caller is the shard's reader and writes the result into the cursor's `low`. If the result is p_pos,
-- the cursor's row stays until the next cleaning. sweep_shard deletes finished messages behind the first open lease.
-- A call cleans at most 20,000 ids, or one lease if that covers more; sweep_shard cleans the same number. Index:
-- lease_pkey.
create or replace function queue.clean_shard(p_queue_id int, p_shard int, p_low bigint, p_pos bigint) returns bigint
language plpgsql as $$
declare
    v_low bigint;
    v_open bigint;
    v_in_flight boolean;
begin
    select min(o.id) - 1, bool_and(o.in_flight) into v_open, v_in_flight
    from (      -- leases that overlap the first open one are among the next 200
        select x.ids[1] as id, x.visible_at < 'infinity' as in_flight from queue.lease x
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > p_low and x.pos <= p_pos and x.ids <> '{}'
        order by x.pos limit 200) o;
    if v_in_flight
        and p_pos - v_open > 40000 / (select q.shards from queue.queues q where q.queue_id = p_queue_id)
    then        -- if messages were skipped, maintain_queue decides this
        perform queue.update_in_flight_counting(p_queue_id, true);
    end if;
    v_low := queue.lease_boundary(p_queue_id, p_shard, p_low, coalesce(v_open, p_pos));
    if v_low is not null then
        perform queue.clear_range(p_queue_id, p_shard, p_low, v_low, p_pos);
        delete from queue.hole h
        where h.queue_id = p_queue_id and h.shard = p_shard and h.id > p_low and h.id <= v_low;
    end if;
    v_low := coalesce(v_low, p_low);
    if v_open is not null then
        perform queue.sweep_shard(p_queue_id, p_shard, v_low, p_pos);
    end if;
    return v_low;
end $$;
