-- queue.peek_messages: returns messages of a queue by public id, without receiving them.
--   `p_state` is visible, in_flight, delayed, or all.
--   `p_after` restricts the result to greater ids, and null means all ids.
--   `p_bytes` is the size of bodies and attributes after which the function stops. Null means no limit.
--   `entered_at_ms` and `entered_by` say when and how the message entered this queue: sent, dead_lettered or moved.
-- Omits messages whose retention is over. Takes no lock. Uses the indexes log_pkey, lease_pkey, side_pkey and
-- fifo_message_of_group.
create or replace function queue.peek_messages(p_arn text, p_state text, p_after bigint, p_limit int,
    p_bytes bigint default null)
returns table (public_id bigint, receive_count int, message_id text, sent_at_ms bigint, visible_at_ms bigint,
    body text, attributes text, system text, group_id text, entered_at_ms bigint, entered_by text)
language sql stable as $$
with q as materialized (
    select k.*, clock_timestamp() - k.retention_seconds * interval '1 second' as before
    from queue.queues k where k.arn = p_arn),
cursor as (
    select q.queue_id, q.before, s.shard, c.pos, c.low
    from q cross join generate_series(0, q.shards - 1) s(shard)
    cross join lateral (
        select x.pos, x.low from queue.lease x
        where x.queue_id = q.queue_id and x.shard = s.shard order by x.pos desc limit 1) c
    where not q.fifo),
found as (
    (select queue.public_id(l.shard, l.id) as public_id, 0 as receive_count, l.message_id, l.sent_at,
        l.sent_at as entered_at, l.sent_at as visible_at, l.body, l.attributes, l.system
    from cursor c cross join lateral (
        select * from queue.log l
        where l.queue_id = c.queue_id and l.shard = c.shard
            and l.id > greatest(c.pos, (coalesce(p_after, 0) >> 8) - 1) and l.sent_at >= c.before
        order by l.id limit p_limit + 1) l
    where p_state in ('visible', 'all'))
    union all
    (select queue.public_id(l.shard, l.id), x.receive_count, l.message_id, l.sent_at, l.sent_at,
        case when x.visible_at = 'infinity' then l.sent_at else x.visible_at end, l.body,
        l.attributes, l.system
    from cursor c
    join queue.lease x on x.queue_id = c.queue_id and x.shard = c.shard and x.pos > c.low and x.ids <> '{}'
        and p_state in (queue.message_state(x.visible_at, x.receive_count), 'all')
    join queue.log l on l.queue_id = x.queue_id and l.shard = x.shard and l.id = any (x.ids)
        and l.id between x.first_id and x.pos and l.sent_at >= c.before)
    union all
    (select queue.public_id(s.shard, s.id), s.receive_count, s.message_id, s.sent_at,
        coalesce(s.entered_at, s.sent_at), s.visible_at, s.body, s.attributes, s.system
    from q join queue.side s on s.queue_id = q.queue_id and s.sent_at >= q.before
    where p_state in (queue.message_state(s.visible_at, s.receive_count), 'all'))
    union all
    (select queue.public_id(queue.fifo_shard(), m.id), m.receive_count, m.message_id, m.sent_at, m.sent_at,
        m.visible_at, m.body, m.attributes, m.system || jsonb_build_object('MessageDeduplicationId', m.deduplication_id)
    from q join queue.fifo_group g on g.queue_id = q.queue_id join queue.fifo_message m on m.group_key = g.group_key
        and m.group_key > 0 and m.sent_at >= q.before
    where p_state in (queue.message_state(m.visible_at, m.receive_count), 'all')))
select f.public_id, f.receive_count, f.message_id::text, queue.epoch_ms(f.sent_at), queue.epoch_ms(f.visible_at),
    f.body, f.attributes::text, queue.client_system(f.system)::text, f.system ->> 'MessageGroupId',
    queue.epoch_ms(f.entered_at), coalesce(queue.entered_by(f.system), 'sent')
from (
    select p.*, sum(octet_length(p.body) + queue.json_bytes(p.attributes))
        over (order by p.public_id rows between unbounded preceding and 1 preceding) as bytes_before
    from (select * from found where public_id > coalesce(p_after, -1) order by public_id limit p_limit) p) f
where p_bytes is null or coalesce(f.bytes_before, 0) < p_bytes
order by f.public_id
$$;
