-- Database roles of the service and of applications.

-- queue.has_role: returns whether a role has the rights of another role, or can obtain them by SET ROLE. A superuser
-- has every role. The right to grant the other role does not count. Since PostgreSQL 16, the creator of a role has the
-- right to grant that role.
create or replace function queue.has_role(p_role name, p_other oid) returns boolean
language sql stable as $$
select pg_has_role(p_role, p_other,
    case when current_setting('server_version_num')::int >= 160000 then 'USAGE, SET' else 'MEMBER' end)
$$;

-- queue.is_service_role: returns whether the session's login role belongs to the service. A role of the service is a
-- superuser, a member of penstock_api, or a member of the role that owns the schema.
create or replace function queue.is_service_role() returns boolean
language plpgsql stable as $$
begin
    if queue.has_role(session_user, to_regrole('penstock_api')) then        -- The usual case needs no query.
        return true;
    end if;
    return queue.has_role(session_user, (select n.nspowner from pg_namespace n where n.nspname = 'queue'));
end $$;

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

-- queue.caller_account: returns the account and region of the session's login role in the SQL interface. The column
-- `is_bound` says whether the role can use only its account. The role's entry in queue.role_account contains the
-- account and the region. A role without an entry uses the entries of its groups if these entries agree. A service role
-- (is_service_role) without an entry uses the default account and can name every queue. Reads session_user, because
-- current_user is the calling function's owner, and because SET ROLE does not change session_user. Raises 42501 if the
-- role has no account or several accounts.
create or replace function queue.caller_account(out account_id text, out region text, out is_bound boolean)
language plpgsql stable as $$
declare
    v_accounts int;
begin
    select r.account_id, r.region, true into account_id, region, is_bound
    from queue.role_account r where r.role_name = session_user;
    if found then
        return;
    elsif queue.is_service_role() then
        account_id := '000000000000';
        region := 'us-east-1';
        is_bound := false;
        return;
    end if;
    select min(r.account_id), min(r.region), count(distinct (r.account_id, r.region)), true
    into account_id, region, v_accounts, is_bound
    from queue.role_account r join pg_roles g on g.rolname = r.role_name
    where pg_has_role(session_user, g.oid, 'USAGE');
    if v_accounts <> 1 then
        raise exception 'the database role % stands for %: `penstock roles set %` says for which', session_user,
            case v_accounts when 0 then 'no account' else 'several accounts' end, session_user
            using errcode = 'insufficient_privilege';
    end if;
end $$;

-- queue.set_role_account: sets the account and region of a database role in the SQL interface. Returns the role's
-- problem (role_problem), or null. If the role does not exist, does not store a row and returns no row. Raises 23514 if
-- the account or region is invalid.
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
