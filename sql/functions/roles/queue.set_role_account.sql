-- queue.set_role_account(role, account, region): makes a database role stand for an account and region in the SQL
-- interface, whatever it stood for before. Returns a row if there is such a role, with what is wrong with it otherwise
-- (role_problem); else none, and nothing is stored.
-- Raises 23514 for an account or region that is not allowed.
create or replace function queue.set_role_account(p_role text, p_account_id text, p_region text)
returns table (problem text)
language sql as $$
    insert into queue.role_account as r (role_name, account_id, region)
    select o.rolname, p_account_id, p_region from pg_roles o where o.rolname = p_role
    on conflict (role_name) do update set account_id = excluded.account_id, region = excluded.region
    returning queue.role_problem(r.role_name)
$$;

-- queue.unset_role_account(role): makes a database role stand for no account of its own any more. Returns one row:
-- whether it stood for one.
create or replace function queue.unset_role_account(p_role text) returns table (found boolean)
language plpgsql as $$
begin
    delete from queue.role_account r where r.role_name = p_role;
    return query select found;
end $$;

-- queue.list_role_accounts(): which account and region each database role stands for, by name; and what is wrong with the
-- role's memberships (role_problem), else null.
create or replace function queue.list_role_accounts()
returns table (role_name text, account_id text, region text, created_at timestamptz, problem text)
language sql stable as $$
select r.role_name::text, r.account_id, r.region, r.created_at, queue.role_problem(r.role_name)
from queue.role_account r order by 1
$$;
