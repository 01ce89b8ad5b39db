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
