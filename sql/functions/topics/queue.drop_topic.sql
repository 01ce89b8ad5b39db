-- queue.drop_topic: deletes a topic and its subscriptions. `dropped` says whether the topic existed. The worker still
-- delivers earlier messages. The function maintain_topics removes the topic's deduplication ids. A new topic with the
-- same name does not use these ids.
create or replace function queue.drop_topic(p_arn text) returns table (dropped boolean)
language plpgsql as $$
begin
    delete from queue.topic t where t.arn = p_arn;
    return query select found;
end $$;
