-- Searches of messages.

-- queue.search_messages: returns messages of a queue that match a filter (find_messages), without receiving them. The
-- last row has no public id. It has these columns:
--   `looked_at` is the number of examined messages.
--   `messages` is the number of messages in the queue, by the last measurement, or null if that number is unknown.
--   `next` is the p_after of the next search, or null at the end.
-- Returns no row if the queue does not exist. Takes no lock.
create or replace function queue.search_messages(
    p_arn text, p_filter jsonb, p_after text, p_limit int, p_scan int, p_bytes bigint)
returns setof queue.found_message
language sql stable as $$
select queue.public_id(f.shard, f.id), f.receive_count, f.message_id::text, queue.epoch_ms(f.sent_at),
    queue.epoch_ms(f.visible_at), f.body, f.attributes::text, queue.client_system(f.system)::text, f.group_id,
    queue.epoch_ms(f.entered_at), case when f.id is not null then coalesce(queue.entered_by(f.system), 'sent') end,
    f.state, f.total_receive_count, f.system ->> 'DeadLetterQueueSourceArn', f.looked_at, f.next,
    case when f.id is null then (
        select m.visible + m.in_flight + m.delayed from queue.measurement m where m.queue_id = q.queue_id) end
from queue.queues q
cross join lateral queue.find_messages(
    p_queue_id => q.queue_id, p_filter => p_filter, p_now => clock_timestamp(), p_after => p_after, p_limit => p_limit,
    p_scan => p_scan, p_bytes => p_bytes) f
where q.arn = p_arn
$$;

-- queue.pick_messages: returns the messages with these ids, in the order of the ids. The rows have the format of
-- scan_messages. Ignores unknown ids, and messages whose retention is over. Takes no lock.
create or replace function queue.pick_messages(p_queue_id int, p_public_ids bigint[])
returns setof queue.scanned_message
language sql stable as $$
select u.shard, m.id, m.group_id, m.receive_count, m.message_id, m.sent_at, m.entered_at, m.visible_at, m.body,
    m.attributes, m.system
from (select distinct (i & 255)::int - 2 as shard, i >> 8 as id from unnest(p_public_ids) i) u
cross join lateral (
    (select f.id, (select g.group_id from queue.fifo_group g where g.group_key = f.group_key) as group_id,
        f.receive_count, f.message_id, f.sent_at, f.sent_at as entered_at, f.visible_at, f.body, f.attributes,
        f.system || jsonb_build_object('MessageDeduplicationId', f.deduplication_id) as system
    from queue.fifo_message f where u.shard = queue.fifo_shard() and f.id = u.id and f.queue_id = p_queue_id)
    union all
    (select s.id, s.system ->> 'MessageGroupId', s.receive_count, s.message_id, s.sent_at,
        coalesce(s.entered_at, s.sent_at), s.visible_at, s.body, s.attributes, s.system
    from queue.side s where s.queue_id = p_queue_id and s.shard = u.shard and s.id = u.id)
    union all
    (select l.id, l.system ->> 'MessageGroupId', coalesce(x.receive_count, 0), l.message_id, l.sent_at, l.sent_at,
        case when x.visible_at is null or x.visible_at = 'infinity' then l.sent_at else x.visible_at end, l.body,
        l.attributes, l.system
    from queue.log l
    left join lateral (
        select y.receive_count, y.visible_at from queue.lease y
        where y.queue_id = p_queue_id and y.shard = u.shard and y.pos >= u.id and y.first_id <= u.id
            and u.id = any (y.ids)
        order by y.pos limit 1) x on true
    where u.shard >= 0 and l.queue_id = p_queue_id and l.shard = u.shard and l.id = u.id
        and (x.receive_count is not null or l.id > (
            select max(y.pos) from queue.lease y where y.queue_id = p_queue_id and y.shard = u.shard)))) m
where m.sent_at >= (
    select clock_timestamp() - q.retention_seconds * interval '1 second' from queue.queues q
    where q.queue_id = p_queue_id)
order by u.shard, m.id
$$;
