-- queue.number_publications(topic, publications): gives the messages for a FIFO topic their numbers (sequence_number) and
-- the deduplication ids that they lack, and marks those that were published in the last five minutes already (error
-- Duplicate, with the original's message_id and number) and those without a deduplication id (DeduplicationIdRequired).
-- Returns the publications in the same order.
-- Locks: advisory, the topic or the message groups, in the order of their keys. Index: topic_deduplication_pkey.
-- Called by: publish_messages.
create or replace function queue.number_publications(p_topic queue.topic, p_publications jsonb[]) returns jsonb[]
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_message_ids uuid[];
    v_scopes text[];
    v_deduplication_ids text[];
    v_numbers bigint[];
    v_claimed int;
begin
    select array_agg((u.p ->> 'message_id')::uuid order by u.n),
        array_agg(case when p_topic.deduplicates_groups then u.p ->> 'group_id' else '' end order by u.n),
        array_agg(coalesce(u.p ->> 'deduplication_id', case when p_topic.content_based_deduplication
            then encode(sha256(convert_to(u.p #>> '{contents,*,raw}', 'UTF8')), 'hex') end) order by u.n)
    into v_message_ids, v_scopes, v_deduplication_ids
    from unnest(p_publications) with ordinality u(p, n);
    perform pg_advisory_xact_lock(queue.lock_key(4, p_topic.topic_id, k.part))
    from (select distinct case when p_topic.deduplicates_groups then hashtext(s) & 63 else 0 end as part
          from unnest(v_scopes) s order by 1) k;
    v_now := clock_timestamp();
    v_numbers := array(select nextval('queue.topic_sequence') from unnest(v_scopes));
    insert into queue.topic_deduplication as d (topic_id, scope, deduplication_id, message_id, sequence_number,
        expires_at)
    select distinct on (e.scope, e.deduplication_id) p_topic.topic_id, e.scope, e.deduplication_id, e.message_id, e.number,
        v_now + interval '5 minutes'
    from unnest(v_scopes, v_deduplication_ids, v_message_ids, v_numbers) e(scope, deduplication_id, message_id, number)
    where e.deduplication_id is not null order by e.scope, e.deduplication_id, e.number
    on conflict (topic_id, scope, deduplication_id) do update
        set message_id = excluded.message_id, sequence_number = excluded.sequence_number,
            expires_at = excluded.expires_at
        where d.expires_at <= v_now;
    get diagnostics v_claimed = row_count;
    if v_claimed = cardinality(v_numbers) then
        return array(
            select p_publications[e.n] || jsonb_build_object('sequence_number', e.number, 'deduplication_id', e.id)
            from unnest(v_numbers, v_deduplication_ids) with ordinality e(number, id, n)
            order by e.n);
    end if;
    return array(       -- one lookup an id: with an array the planner may read all ids of the topic
        select p_publications[e.n] || jsonb_strip_nulls(jsonb_build_object(
            'message_id', coalesce(d.message_id, e.message_id), 'sequence_number', d.sequence_number,
            'deduplication_id', e.deduplication_id,
            'error', case when e.deduplication_id is null then 'DeduplicationIdRequired'
                 when d.message_id <> e.message_id then 'Duplicate' end))
        from unnest(v_scopes, v_deduplication_ids, v_message_ids)
            with ordinality e(scope, deduplication_id, message_id, n)
        left join lateral (
            select f.message_id, f.sequence_number from queue.topic_deduplication f
            where f.topic_id = p_topic.topic_id and f.deduplication_id = e.deduplication_id and f.scope = e.scope
            limit 1) d on true
        order by e.n);
end $$;
