-- queue.list_mappings: returns the event source mappings of an account in a region, in the order of their ids.
--   `p_mapping_id`, `p_queue_arn` and `p_function_arn` restrict the result to matching mappings. Null means any
--     mapping.
--   `p_after` restricts the result to greater ids. Null means all ids.
-- Uses the index event_source_mapping_account. This file also contains read_mappings and list_troubled_mappings.
create or replace function queue.list_mappings(
    p_account_id text, p_region text, p_mapping_id uuid, p_queue_arn text, p_function_arn text, p_after uuid,
    p_limit int)
returns table (mapping jsonb)
language sql stable as $$
select queue.show_mapping(m)
from queue.event_source_mapping m
where m.account_id = p_account_id and m.region = p_region
    and (p_mapping_id is null or m.mapping_id = p_mapping_id)
    and (p_queue_arn is null or m.queue_arn = p_queue_arn)
    and (p_function_arn is null or m.function_arn = p_function_arn)
    and (p_after is null or m.mapping_id > p_after)
order by m.mapping_id
limit p_limit
$$;

-- queue.read_mappings: returns event source mappings as JSON.
create or replace function queue.read_mappings(p_mapping_ids uuid[])
returns table (mapping jsonb)
language sql stable as $$
select queue.show_mapping(m) from queue.event_source_mapping m where m.mapping_id = any (p_mapping_ids)
$$;

-- queue.list_troubled_mappings: returns the event source mappings of an account that fail, the longest failing first,
-- and then those that the service stopped. `p_queue_arn` is null for the mappings of any queue. Uses the index
-- event_source_mapping_troubled.
create or replace function queue.list_troubled_mappings(
    p_account_id text, p_region text, p_queue_arn text, p_limit int)
returns table (mapping jsonb)
language sql stable as $$
select queue.show_mapping(m)
from queue.event_source_mapping m
where m.account_id = p_account_id and m.region = p_region
    and (m.failing_since is not null or (not m.enabled and m.reason <> 'USER_INITIATED'))
    and (m.enabled or m.reason <> 'USER_INITIATED')
    and (p_queue_arn is null or m.queue_arn = p_queue_arn)
order by m.failing_since, m.mapping_id
limit p_limit
$$;
