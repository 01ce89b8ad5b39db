-- queue.set_topic_attributes(arn, attributes): replaces the given attributes; a null value removes one.
-- Returns one row: whether there is such a topic. Called by: SetTopicAttributes.
create or replace function queue.set_topic_attributes(p_arn text, p_attributes jsonb) returns table (found boolean)
language plpgsql as $$
begin
    update queue.topic t set attributes = jsonb_strip_nulls(t.attributes || p_attributes) where t.arn = p_arn;
    return query select found;
end $$;
