-- queue.group_failures: returns the messages of a queue that match a filter (find_messages), in groups.
--   `p_by` says which value the messages of a group share: source, receive_count, attribute (the text of p_attribute),
--     shape (md5 of body_shape), or cause (error_cause).
--   `p_groups` is the number of groups. The largest groups come first.
--   `p_samples` is the number of each group's newest messages that have rows.
--   `group_messages`, `oldest_ms` and `newest_ms` describe the group's examined messages.
--   `body` contains the first 16,384 characters.
-- The last row has a null group, the number of groups, and the values of the last row of search_messages. Returns no
-- row if the queue does not exist. Takes no lock.
create or replace function queue.group_failures(
    p_arn text, p_by text[], p_attribute text, p_filter jsonb, p_after text, p_scan int, p_groups int, p_samples int)
returns table (group_number int, group_source_arn text, group_receive_count int, group_attribute text, group_shape
    text, group_cause text, group_messages bigint, oldest_ms bigint, newest_ms bigint, public_id bigint, receive_count
    int, message_id text, sent_at_ms bigint, visible_at_ms bigint, body text, body_length int, attributes text, system
    text, group_id text, entered_at_ms bigint, entered_by text, state text, total_receive_count int, source_arn text,
    looked_at int, next text, messages bigint, groups bigint)
language sql stable as $$
with q as materialized (select * from queue.queues where arn = p_arn),
found as materialized (
    select queue.public_id(f.shard, f.id) as message, f.entered_at, f.looked_at, f.next,
        case when 'source' = any (p_by) then f.system ->> 'DeadLetterQueueSourceArn' end as source_arn,
        case when 'receive_count' = any (p_by) then f.total_receive_count end as receive_count,
        case when 'attribute' = any (p_by) then f.attributes #>> array[p_attribute, 'StringValue'] end as attribute,
        f.shape, case when 'cause' = any (p_by) then queue.error_cause(f.attributes) end as cause
    from q cross join lateral queue.find_messages(
        q.queue_id, p_filter, clock_timestamp(), p_after, p_scan, p_scan, null, 'shape' = any (p_by)) f),
grouped as materialized (
    select f.source_arn, f.receive_count, f.attribute, f.shape, f.cause, count(*) as messages,
        min(f.entered_at) as oldest, max(f.entered_at) as newest,
        (array_agg(f.message order by f.entered_at desc, f.message desc))[1:p_samples] as samples
    from found f where f.message is not null
    group by f.source_arn, f.receive_count, f.attribute, f.shape, f.cause),
largest as (
    select row_number() over (order by g.messages desc, g.newest desc, g.samples)::int as number, g.*
    from grouped g order by 1 limit p_groups)
select g.number, g.source_arn, g.receive_count, g.attribute, g.shape, g.cause, g.messages, queue.epoch_ms(g.oldest),
    queue.epoch_ms(g.newest), queue.public_id(m.shard, m.id), m.receive_count, m.message_id::text,
    queue.epoch_ms(m.sent_at), queue.epoch_ms(m.visible_at), left(m.body, 16384), octet_length(m.body),
    m.attributes::text,
    queue.client_system(m.system)::text, m.group_id, queue.epoch_ms(m.entered_at),
    coalesce(queue.entered_by(m.system), 'sent'), queue.message_state(m.visible_at, m.receive_count),
    m.receive_count + coalesce((m.system ->> 'ApproximateReceiveCount')::int, 0),
    m.system ->> 'DeadLetterQueueSourceArn', null::int, null::text, null::bigint, null::bigint
from largest g cross join q cross join lateral queue.pick_messages(q.queue_id, g.samples) m
union all
select null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
    null, null, null, null, null, f.looked_at, f.next,
    (select m.visible + m.in_flight + m.delayed from queue.measurement m join q on q.queue_id = m.queue_id),
    (select count(*) from grouped)
from found f where f.message is null
order by 1, 20 desc
$$;
