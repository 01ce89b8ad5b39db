-- queue.create_topic: creates a topic. Returns the topic's ARN. If the topic exists with the given attributes and tags,
-- only returns the topic's ARN.
--   `p_defaults` contains the values of attributes that the topic does not store.
--   `error` is TopicExists or null.
--   `detail` is the part that differs, Attributes or Tags.
create or replace function queue.create_topic(
    p_account_id text, p_region text, p_name text, p_attributes jsonb, p_tags jsonb,
    p_defaults jsonb default '{}')
returns table (arn text, created boolean, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_topic queue.topic;
begin
    insert into queue.topic (account_id, region, name, attributes, tags)
    values (p_account_id, p_region, p_name, p_attributes, p_tags)
    on conflict do nothing
    returning * into v_topic;
    if found then
        return query select v_topic.arn, true, null::text, null::text;
        return;
    end if;
    select * into v_topic from queue.topic t
    where t.account_id = p_account_id and t.region = p_region and t.name = p_name;
    return query
    select v_topic.arn, false, case when d.what is not null then 'TopicExists' end, d.what
    from (select case when queue.differing_attribute(p_defaults || v_topic.attributes, p_attributes) is not null
                      then 'Attributes'
                      when not v_topic.tags @> p_tags then 'Tags' end as what) d;
end $$;
