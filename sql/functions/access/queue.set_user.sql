-- queue.set_user: creates a user or replaces a user's policies. The column `created` says whether the user is new.
-- Raises 23514 if the name or account is invalid.
-- This file also contains end_user and list_users.
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

-- queue.end_user: deletes a user and revokes the user's keys. The column `found` says whether the user existed. A later
-- user with this name does not receive these keys.
create or replace function queue.end_user(p_account_id text, p_name text) returns table (found boolean)
language plpgsql as $$
begin
    update queue.access_key k set revoked_at = coalesce(k.revoked_at, clock_timestamp()), user_name = null
    where k.account_id = p_account_id and k.user_name = p_name;
    update queue.bearer_key k set revoked_at = coalesce(k.revoked_at, clock_timestamp()), user_name = null
    where k.account_id = p_account_id and k.user_name = p_name;
    delete from queue.account_user u where u.account_id = p_account_id and u.name = p_name;
    return query select found;
end $$;

-- queue.list_users: returns the account's users with their policies, by account and name.
--   `p_account_id` is null for the users of all accounts.
create or replace function queue.list_users(p_account_id text)
returns table (account_id text, name text, policies text[], created_at timestamptz)
language sql stable as $$
    select u.account_id, u.name, u.policies, u.created_at from queue.account_user u
    where p_account_id is null or u.account_id = p_account_id
    order by 1, 2
$$;
