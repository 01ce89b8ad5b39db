-- queue.clean_shard(queue, shard, low, pos): deletes everything of a shard above p_low that is done, up to the first
-- message that is not, and records it in the history. Returns up to where the shard is clean now.
-- Leases are cleaned whole. Those of one receive that passed noisy tenants over overlap, and go together (take_quiet).
-- The caller is the shard's reader and writes the result into the cursor's `low`. The cursor's own row (p_pos) stays,
-- also when its messages are cleaned: then `low` is p_pos, and the row goes with the next cleaning.
-- At most 20,000 ids a call, or one lease when it covers more. Index: lease_pkey, log_pkey.
-- Called by: take_shard, maintain_shard.
create or replace function queue.clean_shard(p_queue_id int, p_shard int, p_low bigint, p_pos bigint) returns bigint
language plpgsql as $$
declare
    v_low bigint;
    v_open bigint;
begin
    select min(o.id) - 1 into v_open from (     -- those that overlap the first open one are among the next 200
        select x.ids[1] as id from queue.lease x
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > p_low and x.pos <= p_pos and x.ids <> '{}'
        order by x.pos limit 200) o;
    if p_pos - v_open > 40000 / (select q.shards from queue.queues q where q.queue_id = p_queue_id) then
        perform queue.watch_in_flight(p_queue_id, true);
    end if;
    v_low := queue.end_of_leases(p_queue_id, p_shard, p_low, coalesce(v_open, p_pos));
    if v_low is null then
        return p_low;
    end if;
    if (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id) then
        insert into queue.history (queue_id, outcome, receive_count, first_received_at, group_ids, sent_at, finished_at)
        select p_queue_id, m.outcome, x.receive_count, x.first_received_at, m.group_ids, m.sent_at, m.finished_at
        from queue.lease x
        cross join lateral (        -- aggregated inside: the planner must go from each lease to its range of the log
            select f.outcome, case when count(f.group_id) > 0 then array_agg(f.group_id) end as group_ids,
                array_agg(f.sent_at) as sent_at, array_agg(f.finished_at) as finished_at
            from (
                select l.sent_at, l.system ->> 'MessageGroupId' as group_id,
                    case when l.id = any (x.gone) then 'deleted' else coalesce(x.outcome, 'deleted') end as outcome,
                    case when l.id = any (x.gone) then x.gone_at[array_position(x.gone, l.id)] else x.done_at end
                        as finished_at
                from queue.log l
                where l.queue_id = p_queue_id and l.shard = p_shard and l.id >= x.first_id and l.id <= x.pos) f
            where f.finished_at is not null     -- null: it left for the slow lane, which records it
            group by f.outcome) m
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > p_low and x.pos <= v_low;
    end if;
    delete from queue.lease x
    where x.queue_id = p_queue_id and x.shard = p_shard and x.pos >= p_low and x.pos <= v_low and x.pos < p_pos;
    delete from queue.hole h
    where h.queue_id = p_queue_id and h.shard = p_shard and h.id > p_low and h.id <= v_low;
    delete from queue.log l
    where l.queue_id = p_queue_id and l.shard = p_shard and l.id > p_low and l.id <= v_low;
    return v_low;
end $$;
