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
