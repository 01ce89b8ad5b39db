-- queue.fifo_entries: the messages for one FIFO queue out of the arrays of send_messages: number, key of the group, scope
-- of the deduplication and its id (given, or the SHA-256 of the body where the queue says so). An id that was seen when
-- the queue deduplicated in all groups together stays one of them for its five minutes (recorded at AWS): only a queue
-- that was changed since then has such ids.
-- Index: fifo_group_queue_id_group_id_key.
create or replace function queue.fifo_entries(
    p_queue queue.queues, p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes int[], p_groups text[],
    p_deduplication_ids text[])
returns table (n int, message_id uuid, group_key bigint, scope text, deduplication_id text)
language sql stable as $$
select u.n::int, u.message_id,
    (select g.group_key from queue.fifo_group g where g.queue_id = p_queue.queue_id and g.group_id = u.group_id),
    case when p_queue.deduplicates_groups
            and not (p_queue.modified_at > statement_timestamp() - interval '5 minutes' and exists (
                select from queue.deduplication d
                where d.queue_id = p_queue.queue_id and d.scope = '' and d.deduplication_id = i.deduplication_id
                    and d.expires_at > statement_timestamp()))
        then u.group_id else '' end,
    i.deduplication_id
from unnest(p_queues, p_message_ids, p_bodies, p_sizes, p_groups, p_deduplication_ids)
    with ordinality u(arn, message_id, body, size, group_id, given_id, n)
cross join lateral (
    select coalesce(u.given_id, case when p_queue.content_based_deduplication
        then encode(sha256(convert_to(u.body, 'UTF8')), 'hex') end)) i(deduplication_id)
where u.arn = p_queue.arn and u.size <= p_queue.maximum_message_bytes
order by u.n
$$;
