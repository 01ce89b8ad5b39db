-- Filters and rights of a mapping's batches.

-- queue.filter_messages: returns the messages (n, from 1) that match one of the compiled filter policies. `p_facts` has
-- the format of sns/filter_policy/facts.py.
create or replace function queue.filter_messages(p_policies jsonb[], p_facts jsonb[]) returns table (n int)
language sql stable as $$
select f.n::int from unnest(p_facts) with ordinality f(facts, n)
where exists (select from unnest(p_policies) p(policy) where queue.policy_matches(p.policy, f.facts))
$$;

-- queue.user_policies: returns the policies of a user. Returns no row if the user does not exist.
create or replace function queue.user_policies(p_account_id text, p_name text)
returns table (policies text[])
language sql stable as $$
select u.policies from queue.account_user u where u.account_id = p_account_id and u.name = p_name
$$;
