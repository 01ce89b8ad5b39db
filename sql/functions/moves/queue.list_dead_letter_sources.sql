-- queue.list_dead_letter_sources: returns the names of the queues that use a dead-letter queue, in order. `p_after`
-- restricts the result to later names. Null means all names. Uses the index queues_dead_letter_arn.
create or replace function queue.list_dead_letter_sources(p_arn text, p_after text, p_limit int)
returns table (name text)
language sql stable as $$
select q.name from queue.queues q
where q.dead_letter_arn = p_arn and q.name > coalesce(p_after, '')
order by q.name
limit p_limit
$$;
