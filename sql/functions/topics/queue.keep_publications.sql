-- queue.keep_publications: stores messages of a topic on the event bus that its attribute PenstockBus names, in the
-- order of the array. Stores nothing if the topic's account has no bus of this name. `p_publications` has the format of
-- publish_messages. A text that is JSON becomes an event of this JSON, and another text one of bytes. The event has the
-- message's id and group, and the topic, the subject and the attributes as metadata.
-- This file also contains is_json.
create or replace function queue.keep_publications(p_topic queue.topic, p_publications jsonb[]) returns void
language plpgsql as $$
declare
    v_bus text := (
        select b.arn from queue.event_bus b
        where b.account_id = p_topic.account_id and b.region = p_topic.region
            and b.name = p_topic.attributes ->> 'PenstockBus');
begin
    if v_bus is null or p_publications = '{}' then
        return;
    end if;
    perform queue.put_bus_events(
        p_bus => v_bus, p_account => p_topic.account_id, p_event_ids => k.ids, p_content_types => k.types,
        p_data => k.data, p_metadata => k.metadata, p_groups => k.groups, p_is_application => true)
    from (
        select array_agg((u.p ->> 'message_id')::uuid order by u.n) as ids,
            array_agg(case when queue.is_json(c.text) then 1::smallint else 2::smallint end order by u.n) as types,
            array_agg(convert_to(c.text, 'UTF8') order by u.n) as data,
            array_agg(queue.build_event_metadata(
                jsonb_strip_nulls(jsonb_build_object('topic', p_topic.name, 'subject', u.p -> 'subject')),
                u.p -> 'attributes') order by u.n) as metadata,
            array_agg(u.p ->> 'group_id' order by u.n) as groups
        from unnest(p_publications) with ordinality u(p, n)
        cross join lateral (
            select coalesce(u.p #> '{contents,sqs}', u.p #> '{contents,*}') ->> 'raw' as text) c) k;
end $$;

-- queue.is_json: returns whether a text is JSON (RFC 8259).
create or replace function queue.is_json(p_text text) returns boolean
language plpgsql immutable as $$
begin
    perform p_text::json;
    return true;
exception when data_exception or program_limit_exceeded then
    return false;
end $$;
