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
