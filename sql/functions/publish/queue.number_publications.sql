-- queue.number_publications(topic, publications): gives the messages for a FIFO topic their numbers, and marks those
-- that were published in the last five minutes already (error Duplicate, with the original's id and number) and those
-- without a deduplication id (DeduplicationIdRequired). Returns the publications.
-- Locks: advisory, the topic or the message groups, in the order of their keys. Index: topic_deduplication_pkey.
-- Called by: publish_messages.
create or replace function queue.number_publications(p_topic queue.topic, p_entries queue.publication[])
returns queue.publication[]
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_entries queue.publication[];
    v_claimed int;
begin
    perform pg_advisory_xact_lock(queue.lock_key(4, p_topic.topic_id, k.part))
    from (select distinct case when p_topic.deduplicates_groups then hashtext(e.group_id) & 63 else 0 end as part
          from unnest(p_entries) e order by 1) k;
    v_now := clock_timestamp();
    v_entries := array(
        select (e.n, e.message_id, nextval('queue.topic_sequence'), e.contents, e.attributes, e.attribute_bytes,
            e.attribute_facts, e.body_facts, e.group_id, coalesce(e.deduplication_id,
                case when p_topic.content_based_deduplication
                then encode(sha256(convert_to(e.contents -> '*' ->> 'raw', 'UTF8')), 'hex') end), e.subject,
            null)::queue.publication
        from (select * from unnest(p_entries) u order by u.n) e);
    insert into queue.topic_deduplication as d (topic_id, scope, deduplication_id, message_id, sequence_number,
        expires_at)
    select distinct on (k.scope, e.deduplication_id) p_topic.topic_id, k.scope, e.deduplication_id, e.message_id,
        e.sequence_number, v_now + interval '5 minutes'
    from unnest(v_entries) e
    cross join lateral (select case when p_topic.deduplicates_groups then e.group_id else '' end as scope) k
    where e.deduplication_id is not null order by k.scope, e.deduplication_id, e.sequence_number
    on conflict (topic_id, scope, deduplication_id) do update
        set message_id = excluded.message_id, sequence_number = excluded.sequence_number,
            expires_at = excluded.expires_at
        where d.expires_at <= v_now;
    get diagnostics v_claimed = row_count;
    if v_claimed = cardinality(v_entries) then
        return v_entries;
    end if;
    return array(       -- one lookup an id: with an array the planner may read all ids of the topic
        select (e.n, coalesce(d.message_id, e.message_id), d.sequence_number, e.contents, e.attributes,
            e.attribute_bytes, e.attribute_facts, e.body_facts, e.group_id, e.deduplication_id, e.subject,
            case when e.deduplication_id is null then 'DeduplicationIdRequired'
                 when d.message_id <> e.message_id then 'Duplicate' end)::queue.publication
        from unnest(v_entries) e
        left join lateral (
            select f.message_id, f.sequence_number from queue.topic_deduplication f
            where f.topic_id = p_topic.topic_id and f.deduplication_id = e.deduplication_id
                and f.scope = case when p_topic.deduplicates_groups then e.group_id else '' end
            limit 1) d on true
        order by e.n);
end $$;
