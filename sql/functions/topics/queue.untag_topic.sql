-- queue.untag_topic(arn, keys): removes tags; a key that is not there is no error.
-- Returns one row: error TopicResourceNotFound or null.
create or replace function queue.untag_topic(p_arn text, p_keys text[]) returns table (error text)
language plpgsql as $$
begin
    update queue.topic t set tags = t.tags - p_keys where t.arn = p_arn;
    return query select case when not found then 'TopicResourceNotFound' end;
end $$;
