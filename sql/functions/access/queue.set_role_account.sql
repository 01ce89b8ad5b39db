-- queue.set_role_account: sets the account and region of a database role in the SQL interface. Returns the role's
-- problem (role_problem), or null. If the role does not exist, does not store a row and returns no row. Raises 23514 if
-- the account or region is invalid.
-- This file also contains unset_role_account and list_role_accounts.
create or replace function queue.set_role_account(p_role text, p_account_id text, p_region text)
returns table (problem text)
language sql as $$
    insert into queue.role_account as r (role_name, account_id, region)
    select o.rolname, p_account_id, p_region from pg_roles o where o.rolname = p_role
    on conflict (role_name) do update set account_id = excluded.account_id, region = excluded.region
    returning queue.role_problem(r.role_name)
$$;

-- queue.unset_role_account: removes the account of a database role. The column `found` says whether the role had an
-- account.
create or replace function queue.unset_role_account(p_role text) returns table (found boolean)
language plpgsql as $$
begin
    delete from queue.role_account r where r.role_name = p_role;
    return query select found;
end $$;

-- queue.list_role_accounts: returns the account, region and problem (role_problem) of each database role, by name.
create or replace function queue.list_role_accounts()
returns table (role_name text, account_id text, region text, created_at timestamptz, problem text)
language sql stable as $$
select r.role_name::text, r.account_id, r.region, r.created_at, queue.role_problem(r.role_name)
from queue.role_account r order by 1
$$;
