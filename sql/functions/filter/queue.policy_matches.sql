-- queue.policy_matches: returns whether a message matches a compiled filter policy. The message matches if all keys of
-- one alternative pass.
--   `p_policy` is the result of sns/filter_policy/compile.py.
--   `p_facts` is the result of sns/filter_policy/facts.py. No policy matches if the value is null or empty, and every
--     policy matches if it is true.
-- Keys whose values are in arrays of objects must also pass together (keys_match_together).
-- This file also contains branch_matches_together.
create or replace function queue.policy_matches(p_policy jsonb, p_facts jsonb) returns boolean
language plpgsql immutable parallel safe as $$
declare
    v_document jsonb := p_facts -> e'\x1f';
    v_branch jsonb;
    v_key jsonb;
    v_values jsonb;
    v_passes boolean;
begin
    if p_facts is null or p_facts = '{}' then
        return false;
    elsif p_facts = 'true' then
        return true;
    end if;
    for b in 0 .. jsonb_array_length(p_policy) - 1 loop
        v_branch := p_policy -> b;
        for k in 0 .. jsonb_array_length(v_branch) - 1 loop
            v_key := v_branch -> k;
            v_values := p_facts -> (v_key ->> 0);
            if v_values is null then
                v_passes := (v_key -> 1)::boolean;
            else
                v_passes := queue.key_passes(v_key, v_values);
            end if;
            exit when not v_passes;
        end loop;
        if v_passes and (v_document is null or queue.branch_matches_together(v_branch, p_facts, v_document)) then
            return true;
        end if;
    end loop;
    return false;
end $$;

-- queue.branch_matches_together: returns whether the keys of an alternative pass together in a document. Each key has
-- already passed alone. Ignores keys whose path is missing.
create or replace function queue.branch_matches_together(p_keys jsonb, p_facts jsonb, p_document jsonb) returns boolean
language plpgsql immutable parallel safe as $$
declare
    v_keys jsonb := '[]';
    v_members int[] := '{}';
begin
    for k in 0 .. jsonb_array_length(p_keys) - 1 loop
        if p_facts ? (p_keys -> k ->> 0) then
            v_members := v_members || jsonb_array_length(v_keys);
            v_keys := v_keys || jsonb_build_array(jsonb_build_array(
                to_jsonb(string_to_array(p_keys -> k ->> 0, e'\x1f')), p_keys -> k));
        end if;
    end loop;
    return cardinality(v_members) < 2 or queue.keys_match_together(v_keys, v_members, 0, p_document);
end $$;
