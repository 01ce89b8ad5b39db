-- queue.groups_in_flight(queue, shards, now): tenants of a standard queue with messages in flight: how many messages,
-- and for how many seconds in total. Messages without a group are one row with a null. It reads a sample: the 400
-- leases that end last, spread over the shards, and 300 messages of the slow path.
-- Index: lease_visible_at, log_pkey, side_visible_at. Called by: find_noisy_groups.
create or replace function queue.groups_in_flight(p_queue_id int, p_shards int, p_now timestamptz)
returns table (group_id text, messages bigint, seconds double precision)
language sql stable as $$
select f.system ->> 'MessageGroupId', count(*), sum(extract(epoch from p_now - f.received_at))::double precision
from (
    select l.system, x.first_received_at as received_at
    from generate_series(0, p_shards - 1) s(shard)
    cross join lateral (
        select x.ids, x.first_id, x.pos, x.visible_at, x.first_received_at from queue.lease x
        where queue.time_key(x.queue_id, x.shard) = queue.time_key(p_queue_id, s.shard)
            and x.visible_at > p_now and x.visible_at < 'infinity'
        order by x.visible_at desc limit 400 / p_shards) x      -- finished leases are left out below
    join queue.log l on l.queue_id = p_queue_id and l.shard = s.shard and l.id = any (x.ids)
        and l.id between x.first_id and x.pos         -- bounds the index scan; an array alone may not
    where x.ids <> '{}'
    union all
    (select r.system, r.first_received_at from queue.side r
    where queue.time_key(r.queue_id, -1) = queue.time_key(p_queue_id, -1) and r.visible_at > p_now
        and r.receive_count > 0
    order by r.visible_at desc limit 300)) f
group by 1
$$;
