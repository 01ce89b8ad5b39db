-- queue.group_failures: returns the messages of a queue that match a filter (find_messages), in groups.
--   `p_by` says which value the messages of a group share: source, receive_count, attribute (the text of p_attribute),
--     shape (md5 of body_shape), or cause (error_cause).
--   `p_groups` is the number of groups. The largest groups come first.
--   `p_samples` is the number of each group's newest messages that have rows.
--   `group_messages`, `oldest_ms` and `newest_ms` describe the group's examined messages.
--   `group_facts` is in one row of each group. It has the first 20 names of attributes that occur in the group, and an
--     empty name for error_cause. The value of a name is a list: the three most frequent texts, the number of different
--     texts, and the number of examined messages that have the attribute. Texts have at most 200 characters.
--   `body` contains the first 16,384 characters.
--   `group_splits` is in the same row as `group_facts` if p_splits is true, or null. It has the names of attributes, an
--     empty name for error_cause, and `$.` with the path of each JSON value in bodies of up to 8 KiB and 4 levels. The
--     value of a name is a list of the values, each with its number of messages. Only names with 2 to 8 different
--     values of at most 200 bytes are there, and of which some repeat.
-- The last row has a null group, the number of groups, and the values of the last row of search_messages. Returns no
-- row if the queue does not exist. Takes no lock.
create or replace function queue.group_failures(
    p_arn text, p_by text[], p_attribute text, p_filter jsonb, p_after text, p_scan int, p_groups int, p_samples int,
    p_splits boolean default false)
returns table (group_number int, group_source_arn text, group_receive_count int, group_attribute text, group_shape
    text, group_cause text, group_facts text, group_messages bigint, oldest_ms bigint, newest_ms bigint, public_id
    bigint, receive_count int, message_id text, sent_at_ms bigint, visible_at_ms bigint, body text, body_length int,
    attributes text, system text, group_id text, entered_at_ms bigint, entered_by text, state text,
    total_receive_count int, source_arn text, looked_at int, next text, messages bigint, groups bigint,
    group_splits text)
language sql stable as $$
with recursive q as materialized (select * from queue.queues where arn = p_arn),
found as materialized (
    select queue.public_id(f.shard, f.id) as message, f.entered_at, f.looked_at, f.next,
        case when 'source' = any (p_by) then f.system ->> 'DeadLetterQueueSourceArn' end as source_arn,
        case when 'receive_count' = any (p_by) then f.total_receive_count end as receive_count,
        case when 'attribute' = any (p_by) then f.attributes #>> array[p_attribute, 'StringValue'] end as attribute,
        f.shape, case when 'cause' = any (p_by) then c.cause end as cause, case when p_by <> '{}' then (
            select jsonb_object_agg(a.name, left(a.text, 200)) from (
                select '' as name, c.cause as text
                union all
                select e.key, e.value ->> 'StringValue' from jsonb_each(f.attributes) e
                where e.key not in ('PenstockError', 'ERROR_MESSAGE')) a
            where a.text is not null) end as facts,
        case when p_splits and octet_length(f.body) <= 8192 then queue.as_json(f.body) end as json
    from q cross join lateral queue.find_messages(
        q.queue_id, p_filter, clock_timestamp(), p_after, p_scan, p_scan, null, 'shape' = any (p_by)) f
    cross join lateral (select queue.error_cause(f.attributes) as cause) c),
keyed as materialized (
    select f.*, dense_rank() over (order by f.source_arn, f.receive_count, f.attribute, f.shape, f.cause) as key
    from found f where f.message is not null),
facts as materialized (
    select n.key, jsonb_object_agg(n.name, jsonb_build_array(n.texts, n.different, n.messages)) as facts
    from (
        select t.key, t.name, (array_agg(t.text order by t.messages desc, t.text))[1:3] as texts, count(*) as different,
            sum(t.messages) as messages,
            row_number() over (partition by t.key order by t.name <> '', sum(t.messages) desc, t.name) as place
        from (
            select k.key, e.key as name, e.value as text, count(*) as messages
            from keyed k cross join lateral jsonb_each_text(k.facts) e group by k.key, e.key, e.value) t
        group by t.key, t.name) n
    where n.place <= 20 group by n.key),
field as (
    select k.key, '$.' || e.key as name, e.value, 1 as depth
    from keyed k cross join lateral jsonb_each(case when jsonb_typeof(k.json) = 'object' then k.json end) e
    where position('.' in e.key) = 0 and jsonb_typeof(e.value) <> 'array'
    union all
    select f.key, f.name || '.' || e.key, e.value, f.depth + 1
    from field f cross join lateral jsonb_each(case when jsonb_typeof(f.value) = 'object' then f.value end) e
    where f.depth < 4 and position('.' in e.key) = 0 and jsonb_typeof(e.value) <> 'array'),
splits as materialized (
    select n.key, jsonb_object_agg(n.name, n.counts) as splits
    from (
        select t.key, t.name,
            jsonb_agg(jsonb_build_array(t.value, t.messages) order by t.messages desc, t.value) as counts
        from (
            select v.key, v.name, v.value, count(*) as messages,
                count(*) over (partition by v.key, v.name) as different
            from (
                select f.key, f.name, f.value from field f where jsonb_typeof(f.value) <> 'object'
                union all
                select k.key, e.key, e.value from keyed k cross join lateral jsonb_each(k.facts) e where p_splits) v
            group by v.key, v.name, v.value) t
        where t.different between 2 and 8
        group by t.key, t.name
        having count(*) < sum(t.messages) and max(octet_length(t.value::text)) <= 200) n
    group by n.key),
grouped as materialized (
    select f.key, f.source_arn, f.receive_count, f.attribute, f.shape, f.cause, count(*) as messages,
        min(f.entered_at) as oldest, max(f.entered_at) as newest,
        (array_agg(f.message order by f.entered_at desc, f.message desc))[1:p_samples] as samples
    from keyed f group by f.key, f.source_arn, f.receive_count, f.attribute, f.shape, f.cause),
largest as (
    select row_number() over (order by g.messages desc, g.newest desc, g.samples)::int as number, g.*
    from grouped g order by 1 limit p_groups)
select g.number, g.source_arn, g.receive_count, g.attribute, g.shape, g.cause,
    case when queue.public_id(m.shard, m.id) = g.samples[1] then a.facts::text end, g.messages,
    queue.epoch_ms(g.oldest), queue.epoch_ms(g.newest), queue.public_id(m.shard, m.id), m.receive_count,
    m.message_id::text, queue.epoch_ms(m.sent_at), queue.epoch_ms(m.visible_at), left(m.body, 16384),
    octet_length(m.body), m.attributes::text, queue.client_system(m.system)::text, m.group_id,
    queue.epoch_ms(m.entered_at), coalesce(queue.entered_by(m.system), 'sent'),
    queue.message_state(m.visible_at, m.receive_count),
    m.receive_count + coalesce((m.system ->> 'ApproximateReceiveCount')::int, 0),
    m.system ->> 'DeadLetterQueueSourceArn', null::int, null::text, null::bigint, null::bigint,
    case when queue.public_id(m.shard, m.id) = g.samples[1] then s.splits::text end
from largest g left join facts a on a.key = g.key left join splits s on s.key = g.key
cross join q cross join lateral queue.pick_messages(q.queue_id, g.samples) m
union all
select null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
    null, null, null, null, null, null, f.looked_at, f.next,
    (select m.visible + m.in_flight + m.delayed from queue.measurement m join q on q.queue_id = m.queue_id),
    (select count(*) from grouped), null
from found f where f.message is null
order by 1, 21 desc
$$;
