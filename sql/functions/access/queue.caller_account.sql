-- queue.caller_account(): returns the account and region for which the session's login role acts in the SQL interface,
-- and whether the role is limited to its account. Both values come from the entry of queue.role_account for this role.
-- If the role has no entry, they come from the entry of its groups, provided that all entries agree. The service's
-- roles (is_service_role) need no entry. A service role without an entry acts for the default account and may name
-- every queue. The function uses session_user, because current_user is the owner of the function that calls this one;
-- SET ROLE does not change it. Raises 42501 for a role without an account, or with several.
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
