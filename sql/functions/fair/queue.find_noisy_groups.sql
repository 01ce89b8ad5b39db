-- queue.find_noisy_groups(queue, shards, now): the tenants of a standard queue that are noisy, first those with the
-- fewest messages in flight; null when there are none. A tenant is noisy when it has more than a tenth of the messages
-- in flight and at least 30 of them, or more than a tenth of the time that consumers have spent on messages in flight,
-- with at least 2 (source: SQS Developer Guide, "How Amazon SQS fair queues work"; the 2 are our choice: one stuck
-- message makes no tenant noisy). It stays noisy until its skipped messages have been handed out.
-- It reads a sample of the messages in flight: the 400 leases that end last, spread over the shards, and 300 messages of
-- the slow path. Messages without a group count as one tenant, which is never noisy.
-- Index: lease_visible_at, log_pkey, side_visible_at.
create or replace function queue.find_noisy_groups(p_queue_id int, p_shards int, p_now timestamptz) returns text[]
language sql stable as $$
with in_flight as (
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
    order by r.visible_at desc limit 300)),
tenant as (
    select f.system ->> 'MessageGroupId' as group_id, count(*) as messages,
        sum(extract(epoch from p_now - f.received_at))::double precision as seconds
    from in_flight f group by 1),
busy as (
    select t.group_id, t.messages, t.messages > 0.1 * sum(t.messages) over () as crowds,
        t.seconds > 0.1 * sum(t.seconds) over () as occupies
    from tenant t),
noisy as (
    select b.group_id, b.messages from busy b
    where b.group_id is not null and ((b.crowds and b.messages >= 30) or (b.occupies and b.messages >= 2))
    union all
    select d.group_id, 0 from queue.deferred_groups(p_queue_id) d)
select array_agg(n.group_id order by n.messages, n.group_id)
from (select m.group_id, max(m.messages) as messages from noisy m group by m.group_id) n
$$;
