-- queue.number_publications(topic, publications): gives the messages for a FIFO topic their numbers, and marks those that
-- were published in the last five minutes already (error Duplicate, with the original's id and number) and those without
-- a deduplication id (DeduplicationIdRequired). Returns the publications.
-- Locks: advisory, the topic or the message groups, in the order of their keys. Called by: publish_messages.
create or replace function queue.number_publications(p_topic queue.topic, p_entries queue.publication[])
returns queue.publication[]
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_entries queue.publication[];
begin
    perform pg_advisory_xact_lock(queue.lock_key(4, p_topic.topic_id, k.part))
    from (select distinct case when p_topic.deduplicates_groups then hashtext(e.group_id) & 63 else 0 end as part
          from unnest(p_entries) e order by 1) k;
    v_now := clock_timestamp();
    with entry as materialized (
        select e.*, nextval('queue.topic_sequence') as number,
            case when p_topic.deduplicates_groups then e.group_id else '' end as scope,
            coalesce(e.deduplication_id, case when p_topic.content_based_deduplication
                then encode(sha256(convert_to(e.contents -> '*' ->> 'raw', 'UTF8')), 'hex') end) as key
        from (select * from unnest(p_entries) u order by u.n) e),
    claimed as (
        insert into queue.topic_deduplication as d (topic_id, scope, deduplication_id, message_id, sequence_number,
            expires_at)
        select distinct on (e.scope, e.key) p_topic.topic_id, e.scope, e.key, e.message_id, e.number,
            v_now + interval '5 minutes'
        from entry e where e.key is not null order by e.scope, e.key, e.number
        on conflict (topic_id, scope, deduplication_id) do update
            set message_id = excluded.message_id, sequence_number = excluded.sequence_number,
                expires_at = excluded.expires_at
            where d.expires_at <= v_now
        returning d.scope, d.deduplication_id, d.message_id, d.sequence_number),
    known as (
        select c.* from claimed c
        union all
        select d.scope, d.deduplication_id, d.message_id, d.sequence_number from queue.topic_deduplication d
        where d.topic_id = p_topic.topic_id and (d.scope, d.deduplication_id) in (select e.scope, e.key from entry e)
            and not exists (select from claimed c where c.scope = d.scope and c.deduplication_id = d.deduplication_id))
    select array_agg((e.n, coalesce(k.message_id, e.message_id), k.sequence_number, e.contents, e.attributes,
        e.attribute_bytes, e.attribute_facts, e.body_facts, e.group_id, e.key, e.subject,
        case when e.key is null then 'DeduplicationIdRequired'
             when k.message_id <> e.message_id then 'Duplicate' end)::queue.publication order by e.n)
    into v_entries
    from entry e left join known k on k.scope = e.scope and k.deduplication_id = e.key;
    return v_entries;
end $$;
