-- Reads and changes of topics.

-- queue.drop_topic: deletes a topic and its subscriptions. `dropped` says whether the topic existed. The worker still
-- delivers earlier messages. The function maintain_topics removes the topic's deduplication ids. A new topic with the
-- same name does not use these ids.
create or replace function queue.drop_topic(p_arn text) returns table (dropped boolean)
language plpgsql as $$
begin
    delete from queue.topic t where t.arn = p_arn;
    return query select found;
end $$;

-- queue.replace_topic_policy: replaces a topic's access policy if the policy still is p_old. Null means the default
-- policy. `replaced` says whether the function replaced the policy.
create or replace function queue.replace_topic_policy(p_arn text, p_old text, p_new text)
returns table (replaced boolean)
language plpgsql as $$
begin
    update queue.topic t
    set attributes = jsonb_strip_nulls(t.attributes || jsonb_build_object('Policy', p_new))
    where t.arn = p_arn and t.attributes ->> 'Policy' is not distinct from p_old;
    return query select found;
end $$;

-- queue.describe_topic: returns a topic's attributes and tags as JSON texts, and the numbers of its confirmed and
-- pending subscriptions. Returns no row for an unknown topic.
create or replace function queue.describe_topic(p_arn text)
returns table (attributes text, tags text, confirmed bigint, pending bigint)
language sql stable as $$
select t.attributes::text, t.tags::text,
    (select count(*) from queue.subscription s where s.topic_id = t.topic_id and s.confirmed),
    (select count(*) from queue.subscription s where s.topic_id = t.topic_id and not s.confirmed)
from queue.topic t where t.arn = p_arn
$$;

-- queue.list_topic_page: returns ARNs and names of an account's topics in a region, by name. `p_after` restricts the
-- result to later names. Null means all names.
create or replace function queue.list_topic_page(p_account_id text, p_region text, p_after text, p_limit int)
returns table (arn text, name text)
language sql stable as $$
select t.arn, t.name from queue.topic t
where t.account_id = p_account_id and t.region = p_region and t.name > coalesce(p_after, '')
order by t.name
limit p_limit
$$;

-- queue.tag_topic: adds tags or replaces their values. A topic can have at most p_limit tags. `error` is
-- TopicResourceNotFound or TagLimitExceeded.
create or replace function queue.tag_topic(p_arn text, p_tags jsonb, p_limit int) returns table (error text)
language plpgsql as $$
declare
    v_count int;
begin
    select (select count(*) from jsonb_object_keys(t.tags || p_tags)) into v_count
    from queue.topic t where t.arn = p_arn for update;
    if v_count <= p_limit then
        update queue.topic t set tags = t.tags || p_tags where t.arn = p_arn;
    end if;
    return query select case when v_count is null then 'TopicResourceNotFound'
        when v_count > p_limit then 'TagLimitExceeded' end;
end $$;

-- queue.untag_topic: removes tags. Ignores missing keys. `error` is TopicResourceNotFound or null.
create or replace function queue.untag_topic(p_arn text, p_keys text[]) returns table (error text)
language plpgsql as $$
begin
    update queue.topic t set tags = t.tags - p_keys where t.arn = p_arn;
    return query select case when not found then 'TopicResourceNotFound' end;
end $$;

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

-- queue.change_topic: replaces the given attributes. A null value removes an attribute.
--   `NotFound` means that the topic does not exist.
--   `LargeMessages` means that the MaximumMessageSize exceeds 256 KiB. A topic for such large messages can have at most
--     100 subscriptions, of queues, Firehose or Lambda (SetTopicAttributes, API reference).
-- Locks the topic's row. The function add_subscription takes a shared lock on this row.
create or replace function queue.change_topic(p_arn text, p_attributes jsonb) returns table (error text)
language plpgsql as $$
declare
    v_topic_id int;
begin
    select t.topic_id into v_topic_id from queue.topic t where t.arn = p_arn for update;
    if v_topic_id is null then
        return query select 'NotFound'::text;
    elsif (p_attributes ->> 'MaximumMessageSize')::int > 262144 and (
            exists (select from queue.subscription s
                where s.topic_id = v_topic_id and s.protocol not in ('sqs', 'firehose', 'lambda'))
            or (select count(*) from queue.subscription s where s.topic_id = v_topic_id) > 100) then
        return query select 'LargeMessages'::text;
    else
        update queue.topic t set attributes = jsonb_strip_nulls(t.attributes || p_attributes)
        where t.topic_id = v_topic_id;
        return query select null::text;
    end if;
end $$;
