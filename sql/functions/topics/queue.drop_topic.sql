-- queue.drop_topic(arn): deletes a topic and its subscriptions; one that does not exist is no error. What was published
-- before is still delivered. Its deduplication ids are left to maintain_topics; a topic of the same name has others.
-- Returns one row: whether there was one. Called by: DeleteTopic.
create or replace function queue.drop_topic(p_arn text) returns table (dropped boolean)
language plpgsql as $$
begin
    delete from queue.topic t where t.arn = p_arn;
    return query select found;
end $$;
