-- queue.read_archive(arn, after, limit): archived messages of a queue in the order of archiving.
-- Index: archive_queue. Called by: GET /v1/queues/{name}/archive.
create or replace function queue.read_archive(p_arn text, p_after bigint, p_limit int)
returns table (archive_id bigint, public_id bigint, message_id text, sent_at_ms bigint, archived_at_ms bigint,
    receive_count int, body text, attributes text, system text)
language sql stable as $$
select a.archive_id, a.public_id, a.message_id::text, queue.epoch_ms(a.sent_at), queue.epoch_ms(a.archived_at),
    a.receive_count, a.body, a.attributes::text, a.system::text
from queue.archive a
where a.queue_id = (select q.queue_id from queue.queues q where q.arn = p_arn) and a.archive_id > coalesce(p_after, 0)
order by a.archive_id
limit p_limit
$$;
