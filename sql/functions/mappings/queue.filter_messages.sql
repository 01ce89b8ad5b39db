-- queue.filter_messages: returns the messages (n, from 1) that match one of the compiled filter policies. `p_facts` has
-- the format of sns/filter_policy/facts.py.
create or replace function queue.filter_messages(p_policies jsonb[], p_facts jsonb[]) returns table (n int)
language sql stable as $$
select f.n::int from unnest(p_facts) with ordinality f(facts, n)
where exists (select from unnest(p_policies) p(policy) where queue.policy_matches(p.policy, f.facts))
$$;
