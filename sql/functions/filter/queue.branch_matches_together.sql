-- queue.branch_matches_together(keys, facts, document): whether the keys of an alternative, each of which has passed
-- alone, pass together in the document; keys that pass because their path is missing are left out.
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
