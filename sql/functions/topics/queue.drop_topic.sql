-- queue.drop_topic(arn): deletes a topic and its subscriptions. The call succeeds for a missing topic. Messages that
-- were published before are still delivered. maintain_topics removes its deduplication ids; a new topic of the same
-- name does not see them. Returns one row: whether the topic existed.
create or replace function queue.drop_topic(p_arn text) returns table (dropped boolean)
language plpgsql as $$
begin
    delete from queue.topic t where t.arn = p_arn;
    return query select found;
end $$;
