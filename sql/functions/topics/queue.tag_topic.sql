-- queue.tag_topic: adds tags or replaces their values. A topic can have at most p_limit tags. `error` is
-- TopicResourceNotFound or TagLimitExceeded.
-- This file also contains untag_topic.
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
