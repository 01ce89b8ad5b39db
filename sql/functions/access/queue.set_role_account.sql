-- queue.set_role_account(role, account, region): makes a database role act for an account and region in the SQL
-- interface. They replace the role's earlier account and region. Returns a row with the role's problem (role_problem)
-- or null. If the role does not exist, the function stores nothing and returns no row.
-- Raises 23514 for an account or region that is not allowed.
create or replace function queue.set_role_account(p_role text, p_account_id text, p_region text)
returns table (problem text)
language sql as $$
    insert into queue.role_account as r (role_name, account_id, region)
    select o.rolname, p_account_id, p_region from pg_roles o where o.rolname = p_role
    on conflict (role_name) do update set account_id = excluded.account_id, region = excluded.region
    returning queue.role_problem(r.role_name)
$$;

-- queue.unset_role_account(role): removes a database role's account. Returns one row: whether the role had one.
create or replace function queue.unset_role_account(p_role text) returns table (found boolean)
language plpgsql as $$
begin
    delete from queue.role_account r where r.role_name = p_role;
    return query select found;
end $$;

-- queue.list_role_accounts(): returns the account and region of each database role, by name, and the problem of its
-- memberships (role_problem) or null.
create or replace function queue.list_role_accounts()
returns table (role_name text, account_id text, region text, created_at timestamptz, problem text)
language sql stable as $$
select r.role_name::text, r.account_id, r.region, r.created_at, queue.role_problem(r.role_name)
from queue.role_account r order by 1
$$;
