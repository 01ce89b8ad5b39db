-- Reads of stored messages by id, and of the archive.

-- queue.read_messages: returns the messages with these ids, in any state, without receiving them. The rows have the
-- format of search_messages. Ignores unknown ids, and messages whose retention is over. Takes no lock.
create or replace function queue.read_messages(p_arn text, p_public_ids bigint[])
returns setof queue.found_message
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

-- queue.read_archive: returns archived messages of a queue in the order of archiving. `p_bytes` is the size of bodies
-- and attributes after which the function stops. Null means no limit. Uses the index archive_queue.
create or replace function queue.read_archive(
    p_arn text, p_after bigint, p_limit int, p_bytes bigint default null)
returns table (archive_id bigint, public_id bigint, message_id text, sent_at_ms bigint, archived_at_ms bigint,
    receive_count int, body text, attributes text, system text)
language sql stable as $$
select a.archive_id, a.public_id, a.message_id::text, queue.epoch_ms(a.sent_at), queue.epoch_ms(a.archived_at),
    a.receive_count, a.body, a.attributes::text,
    queue.client_system(a.system)::text
from (
    select p.*, sum(octet_length(p.body) + queue.json_bytes(p.attributes))
        over (order by p.archive_id rows between unbounded preceding and 1 preceding) as bytes_before
    from (
        select * from queue.archive
        where queue_id = (select q.queue_id from queue.queues q where q.arn = p_arn)
            and archive_id > coalesce(p_after, 0)
        order by archive_id limit p_limit) p) a
where p_bytes is null or coalesce(a.bytes_before, 0) < p_bytes
order by a.archive_id
$$;
