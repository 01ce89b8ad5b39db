-- queue.live_message: has a row for each message in the tables.
--   `state` is visible, in_flight or delayed at the start of the transaction. The value is null if the message has
--     ended.
--   `finished_at` and `outcome` are set for a message that ended or whose retention is over, while the history has no
--     row of the message.
--   `entered_at`, `entered_by` and `redelivered_at` have the same meaning as in queue.finished_message.
-- Omits messages of deleted queues, and ended messages of queues that keep no history.
-- A query on this view reads all messages in the tables. Uses the indexes log_pkey and lease_pkey. The metrics job
-- reads this view.
create or replace view queue.live_message as
with cursor as materialized (
    select q.queue_id, s.shard::smallint as shard, c.pos, c.low
    from queue.queues q cross join lateral generate_series(0, q.shards - 1) s(shard)
    cross join lateral (
        select x.pos, x.low from queue.lease x
        where x.queue_id = q.queue_id and x.shard = s.shard order by x.pos desc limit 1) c
    where not q.fifo),
found as (
    select l.queue_id, l.system ->> 'MessageGroupId' as group_id, l.sent_at, null::timestamptz as first_received_at,
        null::timestamptz as finished_at, 0 as receive_count, null::text as outcome, l.sent_at as visible_at,
        l.sent_at as entered_at, l.system, null::timestamptz[] as redelivered_at
    from cursor c
    cross join lateral (        -- With `offset 0`, the planner reads only the range of each shard (below: each lease).
        select k.queue_id, k.system, k.sent_at from queue.log k
        where k.queue_id = c.queue_id and k.shard = c.shard and k.id > c.pos offset 0) l
    union all
    select l.queue_id, l.group_id, l.sent_at, l.first_received_at, l.finished_at, l.receive_count,
        case when l.finished_at is null then null when l.left_before then 'deleted'
            else coalesce(l.outcome, 'deleted') end,
        case when l.visible_at = 'infinity' then l.sent_at else l.visible_at end, l.sent_at, l.system, l.redelivered_at
    from cursor c
    join queue.lease x on x.queue_id = c.queue_id and x.shard = c.shard and x.pos > c.low
    cross join lateral (
        select k.queue_id, k.system ->> 'MessageGroupId' as group_id, k.sent_at, k.system, x.first_received_at,
            x.receive_count, x.redelivered_at, x.outcome, x.visible_at,
            coalesce(k.id = any (x.gone), false) as left_before, k.id = any (x.ids) as open,
            case when k.id = any (x.ids) then null
                when k.id = any (x.gone) then x.gone_at[array_position(x.gone, k.id)] else x.done_at end as finished_at
        from queue.log k
        where k.queue_id = c.queue_id and k.shard = c.shard and k.id >= x.first_id and k.id <= x.pos offset 0) l
    -- This condition excludes messages that have moved to the side table (queue.side).
    where l.open or l.finished_at is not null
    union all
    select s.queue_id, s.system ->> 'MessageGroupId', s.sent_at, s.first_received_at, null, s.receive_count, null,
        s.visible_at, coalesce(s.entered_at, s.sent_at), s.system, s.redelivered_at
    from queue.side s
    union all
    select m.queue_id, g.group_id, m.sent_at, m.first_received_at, null, m.receive_count, null, m.visible_at, m.sent_at,
        m.system, m.redelivered_at
    from queue.fifo_message m join queue.fifo_group g on g.group_key = m.group_key)
select f.queue_id, f.group_id, f.sent_at, f.first_received_at, f.finished_at, f.receive_count, f.outcome,
    case when f.finished_at is not null then null when f.visible_at <= now() then 'visible'
        when f.receive_count > 0 then 'in_flight' else 'delayed' end as state,
    f.visible_at, f.entered_at,
    case when f.system ? 'DeadLetterQueueSourceArn' then 'dead_lettered'      -- Readers have no right to call
        else coalesce(f.system ->> 'EnteredBy', 'sent') end as entered_by,    -- queue.entered_by.
    f.redelivered_at
from (
    select l.queue_id, l.group_id, l.sent_at, l.first_received_at, l.receive_count, l.visible_at, l.entered_at,
        l.system, l.redelivered_at, case when e.expired then 'expired' else l.outcome end as outcome,
        case when e.expired then least(l.finished_at, greatest(e.at, l.entered_at, l.first_received_at))
            else l.finished_at end as finished_at
    from found l
    join queue.queues q on q.queue_id = l.queue_id
    cross join lateral (
        select x.at, coalesce(l.finished_at, now()) > x.at as expired
        -- queue.ending has the same expressions.
        from (select l.sent_at + q.retention_seconds * interval '1 second' as at) x) e
    where q.keeps_history or (l.finished_at is null and not e.expired)) f;
