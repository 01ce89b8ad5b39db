-- queue.policy_matches(policy, facts): whether a message matches a filter policy, both as filter_policy.py makes them:
-- one of the policy's alternatives holds, and so each of its paths. Facts are null where nothing can match.
-- Called by: fan_out, matching_bindings.
create or replace function queue.policy_matches(p_policy jsonb, p_facts jsonb) returns boolean
language sql immutable parallel safe as $$
select p_facts is not null and exists (
    select from jsonb_array_elements(p_policy) a
    where not exists (
        select from jsonb_array_elements(a) c where not queue.tests_pass(c -> 1, p_facts -> (c ->> 0))))
$$;
