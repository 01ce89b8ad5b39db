-- queue.former_policy_matches(policy, facts): policy_matches for a filter policy that the previous release compiled: the
-- alternatives [[path, [test, …]], …]. One that is set again has the new form. Called by: policy_matches.
create or replace function queue.former_policy_matches(p_policy jsonb, p_facts jsonb) returns boolean
language sql immutable parallel safe as $$
select exists (
    select from jsonb_array_elements(p_policy) a
    where not exists (
        select from jsonb_array_elements(a) c where not queue.tests_pass(c -> 1, p_facts -> (c ->> 0))))
$$;
