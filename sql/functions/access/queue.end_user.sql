-- queue.end_user(account, name): revokes a user's keys and takes away its policies; a user made anew under this name gets
-- none of these keys. Returns one row: whether there is such a user.
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
