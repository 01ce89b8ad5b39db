-- queue.role_problem: returns why an application cannot use a database role, with the command that fixes the role.
-- Returns null if the role is suitable.
create or replace function queue.role_problem(p_role name) returns text
language sql stable as $$
select case
    when o.oid is null then 'there is no such role'
    when o.rolsuper then 'it is a superuser'
    when queue.has_role(p_role, to_regrole('penstock_api')) then
        format('it has the rights of the service: revoke penstock_api from %I', p_role)
    when queue.has_role(p_role, to_regrole('penstock_app')) is not true then
        format('it may not call the functions: grant penstock_app to %I', p_role) end
from (select) one left join pg_roles o on o.rolname = p_role
$$;
