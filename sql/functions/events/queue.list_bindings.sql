-- queue.list_bindings: bindings of an account in a region, of a pattern or of an endpoint (null: any), in the order of
-- ids, after p_after. Called by: GET /v1/events/{pattern}/subscriptions, GET /v1/queues/{name}/subscriptions.
create or replace function queue.list_bindings(
    p_account_id text, p_region text, p_pattern text, p_endpoint text, p_after bigint, p_limit int)
returns table (binding_id bigint, pattern text, protocol text, endpoint text, envelope boolean, filter_policy text,
    created_at_ms bigint)
language sql stable as $$
select b.binding_id, b.pattern, b.protocol, b.endpoint, b.envelope, b.filter_policy, queue.epoch_ms(b.created_at)
from queue.binding b
where b.account_id = p_account_id and b.region = p_region and (p_pattern is null or b.pattern = p_pattern)
    and (p_endpoint is null or b.endpoint = p_endpoint) and b.binding_id > coalesce(p_after, 0)
order by b.binding_id
limit p_limit
$$;
