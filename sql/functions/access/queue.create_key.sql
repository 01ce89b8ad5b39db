-- queue.create_key(kind, id, account, secret, description, user, expires): stores a new key. p_kind is 'access'
-- (p_secret is encrypted) or 'bearer' (p_secret is a hash); p_user null: a key of the account itself; p_expires_at null:
-- it does not expire. Returns one row: created, false when the id is taken; error: UnknownUser, or TooManyKeys: a user
-- has two keys of a kind that are neither revoked nor expired (as in IAM), so that one can replace the other.
-- Raises 23514 for an account that is not 12 digits. Locks: the user's row.
create or replace function queue.create_key(
    p_kind text, p_key_id text, p_account_id text, p_secret bytea, p_description text, p_user text,
    p_expires_at timestamptz)
returns table (created boolean, error text)
language plpgsql as $$
declare
    v_error text;
begin
    if p_user is not null then
        perform from queue.account_user u where u.account_id = p_account_id and u.name = p_user for no key update;
        v_error := case
            when not found then 'UnknownUser'
            when 2 <= (
                select count(*) from queue.list_keys() k
                where k.kind = p_kind and k.account_id = p_account_id and k.user_name = p_user
                    and k.revoked_at is null and coalesce(k.expires_at > clock_timestamp(), true)) then 'TooManyKeys' end;
    end if;
    if v_error is null and p_kind = 'bearer' then
        insert into queue.bearer_key (key_id, account_id, secret_hash, description, user_name, expires_at)
        values (p_key_id, p_account_id, p_secret, p_description, p_user, p_expires_at) on conflict do nothing;
    elsif v_error is null then
        insert into queue.access_key (access_key_id, account_id, sealed_secret, description, user_name, expires_at)
        values (p_key_id, p_account_id, p_secret, p_description, p_user, p_expires_at) on conflict do nothing;
    end if;
    return query select found and v_error is null, v_error;
end $$;
