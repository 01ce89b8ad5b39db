-- queue.match_event(account, region, routing key): the bindings whose patterns match this key, whatever their filter
-- policies.
-- Called by: GET /v1/events/{routing_key}/matches.
create or replace function queue.match_event(p_account_id text, p_region text, p_routing_key text)
returns table (binding_id bigint, pattern text, protocol text, endpoint text, envelope boolean, filter_policy text,
    created_at_ms bigint)
language sql stable as $$
select b.binding_id, b.pattern, b.protocol, b.endpoint, b.envelope, b.filter_policy, queue.epoch_ms(b.created_at)
from queue.matching_bindings(p_account_id, p_region, p_routing_key) b
order by b.binding_id
$$;
