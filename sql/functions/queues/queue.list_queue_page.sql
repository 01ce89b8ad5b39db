-- queue.list_queue_page: returns names of an account's queues in a region, in the order of names, after p_after.
-- Index: queues_account_id_region_name_key.
create or replace function queue.list_queue_page(
    p_account_id text, p_region text, p_prefix text, p_after text, p_limit int)
returns table (name text, fifo boolean, created_at_ms bigint)
language sql stable as $$
select q.name, q.fifo, queue.epoch_ms(q.created_at)
from queue.queues q
where q.account_id = p_account_id and q.region = p_region and q.name > coalesce(p_after, '')
    and starts_with(q.name, coalesce(p_prefix, ''))
order by q.name
limit p_limit
$$;
