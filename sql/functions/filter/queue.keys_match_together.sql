-- queue.keys_match_together: returns whether keys pass below a node of a message.
--   `p_keys` is [names of the path, key] for each key.
--   `p_members` contains the numbers of the keys to compare.
--   `p_depth` is the number of path names that lead to the node.
-- If several keys' paths go through one array, the keys have to pass in the same element, as in AWS's rule engine. For
-- example, {"employees": {"firstName": ["Anna"], "lastName": ["Jones"]}} does not match a message with the employees
-- Anna Smith and Peter Jones. A name of the message can contain dots. If several names begin with the same parts (a,
-- a.b), the function uses the shortest name.
create or replace function queue.keys_match_together(p_keys jsonb, p_members int[], p_depth int, p_node jsonb)
returns boolean
language plpgsql immutable parallel safe as $$
declare
    v_left int[] := p_members;
    v_group int[];
    v_key int;
    v_depth int;
    v_name text;
begin
    case jsonb_typeof(p_node)
    when 'array' then
        for e in 0 .. jsonb_array_length(p_node) - 1 loop
            if queue.keys_match_together(p_keys, p_members, p_depth, p_node -> e) then
                return true;
            end if;
        end loop;
        return false;
    when 'object' then
        while v_left <> '{}' loop
            v_depth := p_depth;
            v_name := p_keys -> v_left[1] -> 0 ->> v_depth;
            while not p_node ? v_name loop      -- The loop also ends if v_name is null.
                v_depth := v_depth + 1;
                v_name := v_name || '.' || (p_keys -> v_left[1] -> 0 ->> v_depth);
            end loop;
            if v_name is null then
                return false;
            end if;
            v_group := '{}';
            foreach v_key in array v_left loop
                if (case when v_depth = p_depth then p_keys -> v_key -> 0 ->> p_depth = v_name
                    else array_to_string((array(
                        select jsonb_array_elements_text(p_keys -> v_key -> 0)))[p_depth + 1:v_depth + 1], '.')
                    = v_name end)
                then
                    v_group := v_group || v_key;
                    v_left := array_remove(v_left, v_key);
                end if;
            end loop;
            if not queue.keys_match_together(p_keys, v_group, v_depth + 1, p_node -> v_name) then
                return false;
            end if;
        end loop;
    else
        foreach v_key in array p_members loop
            if jsonb_array_length(p_keys -> v_key -> 0) <> p_depth
                or not queue.key_passes(p_keys -> v_key -> 1, jsonb_build_array(p_node))
            then
                return false;
            end if;
        end loop;
    end case;
    return true;
end $$;
