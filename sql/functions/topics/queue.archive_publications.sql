-- queue.archive_publications: stores messages of a FIFO topic in the topic's archive, in the order of their numbers.
-- The caller has locked their groups until commit (number_publications), so the archive has the messages of a group in
-- order. `p_publications` has the format of publish_messages. Stores the text for queues, and the parts from which a
-- replay builds the envelope again. A message without an envelope has no Timestamp.
create or replace function queue.archive_publications(p_topic queue.topic, p_publications jsonb[]) returns void
language plpgsql as $$
declare
    v_ids uuid[];
    v_data bytea[];
    v_metadata jsonb[];
    v_groups text[];
begin
    select array_agg((u.p ->> 'message_id')::uuid order by u.n), array_agg(convert_to(c.content ->> 'raw', 'UTF8')
            order by u.n),
        array_agg(jsonb_strip_nulls(jsonb_build_object('number', u.p -> 'sequence_number', 'subject', u.p -> 'subject',
            'attributes', u.p -> 'attributes',
            -- A quote in a text is escaped, so the expression finds only the member of the envelope.
            'timestamp', substring(c.content ->> 'head' from '"Timestamp" : "([^"]*)"'))) order by u.n),
        array_agg(u.p ->> 'group_id' order by u.n)
    into v_ids, v_data, v_metadata, v_groups
    from unnest(p_publications) with ordinality u(p, n)
    cross join lateral (
        select coalesce(u.p #> '{contents,sqs}', u.p #> '{contents,*}') as content) c;
    if v_ids is not null then
        perform queue.put_bus_events(
            p_topic.arn, p_topic.account_id, v_ids, array_fill(2::smallint, array[cardinality(v_ids)]), v_data,
            p_metadata => v_metadata, p_groups => v_groups);
    end if;
end $$;
