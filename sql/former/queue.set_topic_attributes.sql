-- queue.set_topic_attributes: as the previous release calls it.
-- Returns one row: whether there is such a topic. Called by: SetTopicAttributes of the previous release.
create or replace function queue.set_topic_attributes(p_arn text, p_attributes jsonb) returns table (found boolean)
language sql as $$
select coalesce(c.error, '') <> 'NotFound' from queue.change_topic(p_arn, p_attributes) c
$$;
