-- queue.read_messages: returns the messages with these ids, in any state, without receiving them. The rows have the
-- format of search_messages. Ignores unknown ids, and messages whose retention is over. Takes no lock.
create or replace function queue.read_messages(p_arn text, p_public_ids bigint[])
returns table (public_id bigint, receive_count int, message_id text, sent_at_ms bigint, visible_at_ms bigint,
    body text, attributes text, system text, group_id text, entered_at_ms bigint, entered_by text, state text,
    total_receive_count int, source_arn text, looked_at int, next text, messages bigint)
language sql stable as $$
select queue.public_id(m.shard, m.id), m.receive_count, m.message_id::text, queue.epoch_ms(m.sent_at),
    queue.epoch_ms(m.visible_at), m.body, m.attributes::text, queue.client_system(m.system)::text, m.group_id,
    queue.epoch_ms(m.entered_at), coalesce(queue.entered_by(m.system), 'sent'),
    queue.message_state(m.visible_at, m.receive_count),
    m.receive_count + coalesce((m.system ->> 'ApproximateReceiveCount')::int, 0),
    m.system ->> 'DeadLetterQueueSourceArn', null::int, null::text, null::bigint
from queue.queues q cross join lateral queue.pick_messages(q.queue_id, p_public_ids) m
where q.arn = p_arn
order by 1
$$;
