-- queue.routing_key_matches(pattern, key): whether the segments of a routing key match a pattern, in which `*` matches
-- one segment and `#` any number of them, also none (as in AMQP topic exchanges). The time is at worst the product of
-- their lengths. Called by: matching_bindings.
create or replace function queue.routing_key_matches(p_pattern text[], p_key text[]) returns boolean
language plpgsql immutable parallel safe as $$
declare
    v_pattern int := 1;
    v_key int := 1;
    v_last_hash int := 0;                -- where the last `#` is, and which segment of the key it matches up to
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
