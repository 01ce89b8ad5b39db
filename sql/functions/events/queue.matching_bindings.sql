-- queue.matching_bindings(account, region, routing key, facts): returns the bindings whose patterns match this key and
-- whose filter policies match p_facts, the values of the event (null: filter policies are ignored).
-- Index: binding_account_id_region_pattern_protocol_endpoint_key, binding_wildcard.
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

-- queue.routing_key_matches(pattern, key): returns whether the segments of a routing key match a pattern. In a pattern,
-- `*` matches one segment, and `#` matches any number of segments, including none (as in AMQP topic exchanges). The time
-- is at most proportional to the product of their lengths.
create or replace function queue.routing_key_matches(p_pattern text[], p_key text[]) returns boolean
language plpgsql immutable parallel safe as $$
declare
    v_pattern int := 1;
    v_key int := 1;
    v_last_hash int := 0;                -- the place of the last `#`, and the segment of the key up to which it matches
    v_hash_end int := 0;
    v_patterns int := cardinality(p_pattern);
    v_keys int := cardinality(p_key);
begin
    while v_key <= v_keys loop
        if v_pattern <= v_patterns and p_pattern[v_pattern] = '#' then
            v_last_hash := v_pattern;
            v_hash_end := v_key;
            v_pattern := v_pattern + 1;
        elsif v_pattern <= v_patterns and p_pattern[v_pattern] in ('*', p_key[v_key]) then
            v_pattern := v_pattern + 1;
            v_key := v_key + 1;
        elsif v_last_hash > 0 then
            v_hash_end := v_hash_end + 1;
            v_key := v_hash_end;
            v_pattern := v_last_hash + 1;
        else
            return false;
        end if;
    end loop;
    while v_pattern <= v_patterns and p_pattern[v_pattern] = '#' loop
        v_pattern := v_pattern + 1;
    end loop;
    return v_pattern > v_patterns;
end $$;

-- queue.match_event(account, region, routing key): returns the bindings whose patterns match this key, and ignores
-- filter policies.
create or replace function queue.match_event(p_account_id text, p_region text, p_routing_key text)
returns table (binding_id bigint, pattern text, protocol text, endpoint text, envelope boolean, filter_policy text,
    created_at_ms bigint)
language sql stable as $$
select b.binding_id, b.pattern, b.protocol, b.endpoint, b.envelope, b.filter_policy, queue.epoch_ms(b.created_at)
from queue.matching_bindings(p_account_id, p_region, p_routing_key) b
order by b.binding_id
$$;
