-- queue.ready_shards: returns the shards with messages to receive now. The shards that have waited longest come first,
-- so no shard starves and messages are roughly in order. Takes no lock, so the caller checks again under the shard's
-- lock. The current time is the parameter p_now, because a volatile clock cannot be the condition of an index search.
-- Is declared STABLE, so PostgreSQL inlines this function. A new statement sees the newest rows. Uses the indexes
-- lease_pkey, log_pkey and lease_visible_at.
create or replace function queue.ready_shards(p_queue_id int, p_shards int, p_now timestamptz)
returns table (shard int, since timestamptz)
language sql stable as $$
select s.shard, least(fresh.sent_at, expired.visible_at)
from generate_series(0, p_shards - 1) s(shard)
cross join lateral (
    select c.pos, c.watermark from queue.lease c
    where c.queue_id = p_queue_id and c.shard = s.shard
    order by c.pos desc limit 1) cursor
left join lateral (
    select l.sent_at from queue.log l
    where l.queue_id = p_queue_id and l.shard = s.shard and l.id > cursor.pos
    order by l.id limit 1) fresh on true
left join lateral (
    select x.visible_at from queue.lease x
    where queue.time_key(x.queue_id, x.shard) = queue.time_key(p_queue_id, s.shard) and x.visible_at > cursor.watermark
        and x.visible_at <= p_now and x.ids <> '{}'
    order by x.visible_at limit 1) expired on true
where fresh.sent_at is not null or expired.visible_at is not null
order by 2
$$;
