-- queue.list_topic_page: returns ARNs and names of an account's topics in a region, in the order of names, after
-- p_after. Index: topic_account_id_region_name_key.
create or replace function queue.list_topic_page(p_account_id text, p_region text, p_after text, p_limit int)
returns table (arn text, name text)
language sql stable as $$
select t.arn, t.name from queue.topic t
where t.account_id = p_account_id and t.region = p_region and t.name > coalesce(p_after, '')
order by t.name
limit p_limit
$$;
