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
