-- queue.set_user(account, name, policies): makes a user, or gives the user other policies. Returns one row: whether the
-- user is new. Raises 23514 for a name or an account that is not allowed.
create or replace function queue.set_user(p_account_id text, p_name text, p_policies text[])
returns table (created boolean)
language plpgsql as $$
begin
    insert into queue.account_user (account_id, name, policies) values (p_account_id, p_name, p_policies)
    on conflict do nothing;
    if found then
        return query select true;
        return;
    end if;
    update queue.account_user u set policies = p_policies where u.account_id = p_account_id and u.name = p_name;
    return query select false;
end $$;
