-- queue.search_messages: returns messages of a queue that match a filter (find_messages), without receiving them. The
-- last row has no public id. It has these columns:
--   `looked_at` is the number of examined messages.
--   `messages` is the number of messages in the queue, by the last measurement, or null if that number is unknown.
--   `next` is the p_after of the next search, or null at the end.
-- Returns no row if the queue does not exist. Takes no lock.
create or replace function queue.search_messages(
    p_arn text, p_filter jsonb, p_after text, p_limit int, p_scan int, p_bytes bigint)
returns table (public_id bigint, receive_count int, message_id text, sent_at_ms bigint, visible_at_ms bigint,
    body text, attributes text, system text, group_id text, entered_at_ms bigint, entered_by text, state text,
    total_receive_count int, source_arn text, looked_at int, next text, messages bigint)
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
