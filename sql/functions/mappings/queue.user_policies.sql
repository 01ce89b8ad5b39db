-- queue.user_policies: returns the policies of a user. Returns no row if the user does not exist.
create or replace function queue.user_policies(p_account_id text, p_name text)
returns table (policies text[])
language sql stable as $$
select u.policies from queue.account_user u where u.account_id = p_account_id and u.name = p_name
$$;
