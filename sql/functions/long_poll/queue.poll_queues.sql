-- queue.poll_queues: returns the queues of a list that have a message to receive now, or that do not exist. A paused
-- queue has no message to receive. The last row has a null `arn`. `wait_ms` of the last row says how long the result
-- stays the same if no transaction commits, at most an hour. A 0 means that the result can change at once. `p_seen` is
-- the `snapshot` of the previous result's last row. If no transaction has ended since that snapshot, the function does
-- not read the queues and returns no row. Leases and delays end without a commit, so wait_ms lasts until the earliest
-- end of a lease or delay. A lease that ends can be without messages, because an unnecessary poll is cheaper than a
-- search among thousands of leases. Uses the indexes side_visible_at, deferred_pkey, fifo_search_pkey,
-- fifo_ready_visible_at and lease_visible_at, and ready_shards' indexes.
create or replace function queue.poll_queues(p_arns text[], p_seen text default null)
returns table (arn text, snapshot text, wait_ms int)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
begin
    if p_seen = pg_current_snapshot()::text then
        return;
    end if;
    return query
    with asked as materialized (
        select u.arn, q.queue_id, q.fifo, q.shards, q.paused
        from unnest(p_arns) u(arn) left join queue.queues q on q.arn = u.arn),
    timed as materialized (
        select a.arn, a.queue_id, a.shards,
            case when a.queue_id is null then v_now
                when a.paused then 'infinity'
                -- If the last search ran in the last second, or if full searches take long, this query returns the
                -- first ready group that the last search found (take_groups). If a full search is due, the result is
                -- `now`, so that a receive runs the search.
                when a.fifo then (
                    select case when k.long_full and k.full_due_at <= v_now then v_now else (
                        select r.visible_at from queue.fifo_ready r
                        where queue.fifo_key(r.queue_id) = queue.fifo_key(a.queue_id)
                            and r.visible_at >= case
                                when k.long_full or k.searched_at > v_now - interval '1 second' then k.late_visible_at
                                else '-infinity' end
                        order by r.visible_at limit 1) end
                    from (select) one
                    left join lateral (
                        select s.*, s.full_took > interval '5 milliseconds' as long_full from queue.fifo_search s
                        where s.queue_id = a.queue_id and s.searched_at <= v_now
                        order by s.searched_at desc limit 1) k on true)
                when exists (select from queue.deferred d where d.queue_id = a.queue_id)
                    or exists (select from queue.ready_shards(a.queue_id, a.shards, v_now)) then v_now
                else least((
                    select s.visible_at from queue.side s
                    where queue.side_key(s.queue_id) = queue.side_key(a.queue_id)
                    order by s.visible_at limit 1), (
                    select min(e.visible_at) from generate_series(0, a.shards - 1) s(shard)
                    cross join lateral (
                        select x.visible_at from queue.lease x
                        where queue.time_key(x.queue_id, x.shard) = queue.time_key(a.queue_id, s.shard)
                            and x.visible_at > v_now
                        order by x.visible_at limit 1) e)) end as due_at
        from asked a)
    select t.arn, null::text, null::int from timed t where t.due_at <= v_now
    union all
    select null, pg_current_snapshot()::text,
        greatest(0, ceil(extract(epoch from least(min(t.due_at), v_now + interval '1 hour') - v_now) * 1000))::int
    from timed t;
end $$;
