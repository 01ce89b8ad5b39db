-- queue.list_role_accounts(): which account and region each database role stands for, by name; and what is wrong with the
-- role's memberships (role_problem), else null.
create or replace function queue.list_role_accounts()
returns table (role_name text, account_id text, region text, created_at timestamptz, problem text)
language sql stable as $$
select r.role_name::text, r.account_id, r.region, r.created_at, queue.role_problem(r.role_name)
from queue.role_account r order by 1
$$;
