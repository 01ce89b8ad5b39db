-- queue.stored_message: returns what the tables of messages have about one message.
--   `state` is visible, in_flight, delayed, deleted, purged, expired, dead_lettered or moved. It is null if the message
--     ended, and these tables do not say how.
--   `entered_at` is when the message entered this queue.
--   `ended_at` is set for an ended message.
-- Returns no row without a row of the message. The log keeps the row of an ended message until clean_shard.
-- Takes no lock. Uses the indexes fifo_message_pkey, side_pkey, log_pkey and lease_pkey.
create or replace function queue.stored_message(p_queue_id int, p_public_id bigint)
returns table (message_id uuid, state text, sent_at timestamptz, entered_at timestamptz, visible_at timestamptz,
    receive_count int, first_received_at timestamptz, redelivered_at timestamptz[], ended_at timestamptz,
    attributes jsonb, system jsonb)
language sql stable as $$
with place as (select (p_public_id & 255)::int - 2 as shard, p_public_id >> 8 as id),
found as (
    (select f.message_id, queue.message_state(f.visible_at, f.receive_count) as state, f.sent_at,
        f.sent_at as entered_at, f.visible_at, f.receive_count, f.first_received_at, f.redelivered_at,
        null::timestamptz as ended_at, f.attributes,
        coalesce(f.system, '{}') || jsonb_build_object('MessageDeduplicationId', f.deduplication_id) as system
    from place p join queue.fifo_message f on f.id = p.id
    where p.shard = queue.fifo_shard() and f.queue_id = p_queue_id)
    union all
    (select s.message_id, queue.message_state(s.visible_at, s.receive_count), s.sent_at,
        coalesce(s.entered_at, s.sent_at), s.visible_at, s.receive_count, s.first_received_at, s.redelivered_at, null,
        s.attributes, s.system
    from place p join queue.side s on s.queue_id = p_queue_id and s.shard = p.shard and s.id = p.id)
    union all
    (select l.message_id, coalesce(e.outcome, case when x.is_open
            then queue.message_state(x.visible_at, x.receive_count) when c.pos < l.id then 'visible' end),
        l.sent_at, l.sent_at, case when x.visible_at < 'infinity' then x.visible_at else l.sent_at end,
        coalesce(x.receive_count, case when c.pos < l.id then 0 end), x.first_received_at, x.redelivered_at, e.at,
        l.attributes, l.system
    from place p
    join queue.log l on l.queue_id = p_queue_id and l.shard = p.shard and l.id = p.id
    cross join lateral (
        select max(y.pos) as pos from queue.lease y where y.queue_id = p_queue_id and y.shard = p.shard) c
    left join lateral (         -- Leases can overlap (take_fair), but only within 200 messages.
        select n.*, p.id = any (n.ids) as is_open from (
            select y.* from queue.lease y
            where y.queue_id = p_queue_id and y.shard = p.shard and y.pos >= p.id order by y.pos limit 200) n
        where n.first_id <= p.id and (p.id = any (n.ids) or n.gone is null or p.id <> all (n.gone)
            or n.gone_at[array_position(n.gone, p.id)] is not null)
        order by p.id = any (n.ids) desc, n.pos limit 1) x on true
    cross join lateral (        -- A message in `gone` without a time is in the side table (queue.side).
        select case when x.is_open then null when p.id = any (x.gone) then 'deleted'
                when x.done_at is not null then coalesce(x.outcome, 'deleted') end as outcome,
            case when x.is_open then null when p.id = any (x.gone) then x.gone_at[array_position(x.gone, p.id)]
                else x.done_at end as at) e
    where p.shard >= 0))
select f.message_id, case when f.state in ('visible', 'in_flight', 'delayed') and f.sent_at < q.before then 'expired'
        when f.state = 'deleted' then e.outcome else f.state end,
    f.sent_at, f.entered_at, f.visible_at, f.receive_count, f.first_received_at, f.redelivered_at,
    case when f.state in ('deleted', 'expired') or f.sent_at < q.before then e.finished_at else f.ended_at end,
    f.attributes, f.system
from found f
cross join lateral (
    select clock_timestamp() - k.retention_seconds * interval '1 second' as before
    from queue.queues k where k.queue_id = p_queue_id) q
cross join lateral queue.ending(p_queue_id, 'deleted', f.sent_at, f.entered_at, f.first_received_at,
    coalesce(f.ended_at, clock_timestamp())) e
order by f.ended_at nulls first, f.state nulls last limit 1
$$;
