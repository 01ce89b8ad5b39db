-- queue.matching_bindings(account, region, routing key, facts): the bindings whose patterns match this key and whose
-- filter policies match p_facts, the values of the event (null: filter policies are ignored).
-- Index: binding_account_id_region_pattern_protocol_endpoint_key, binding_wildcard.
-- Called by: publish_events, GET /v1/events/{routing_key}/matches.
create or replace function queue.matching_bindings(
    p_account_id text, p_region text, p_routing_key text, p_facts jsonb default null)
returns setof queue.binding
language sql stable as $$
select b.* from queue.binding b
where b.account_id = p_account_id and b.region = p_region and b.literal and b.pattern = p_routing_key
    and (b.filter is null or p_facts is null or queue.policy_matches(b.filter, p_facts))
union all
select b.* from queue.binding b
where b.account_id = p_account_id and b.region = p_region and not b.literal
    and b.segments[1] in ('*', '#', split_part(p_routing_key, '.', 1))
    and queue.routing_key_matches(b.segments, string_to_array(p_routing_key, '.'))
    and (b.filter is null or p_facts is null or queue.policy_matches(b.filter, p_facts))
$$;
