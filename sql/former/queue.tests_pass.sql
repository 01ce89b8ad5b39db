-- queue.tests_pass(tests, values): whether any test holds for any of the values (null: the path is not there).
-- Called by: former_policy_matches.
create or replace function queue.tests_pass(p_tests jsonb, p_values jsonb) returns boolean
language plpgsql immutable parallel safe as $$
declare
    v_test jsonb;
    v_value jsonb;
begin
    for v_test in select * from jsonb_array_elements(p_tests) loop
        if v_test ->> 0 = 'exists' then
            if (v_test ->> 1)::boolean = (p_values is not null) then
                return true;
            end if;
        else
            for v_value in select * from jsonb_array_elements(p_values) loop
                if queue.test_passes(v_test, v_value) then
                    return true;
                end if;
            end loop;
        end if;
    end loop;
    return false;
end $$;
