-- queue.create_key: stores a new key.
--   `p_kind` is 'access' or 'bearer'.
--   `p_secret` is the encrypted secret of an access key, or the hash of a bearer key's secret.
--   `p_user` is null if the key belongs to the account itself.
--   `p_expires_at` is null if the key does not expire.
--   `created` is false if the id is taken or `error` is set.
--   `error` is UnknownUser or TooManyKeys.
-- A user can have two valid keys of a kind, as in IAM, so that the new key can replace the old key. Locks the user's
-- row. Raises 23514 if the account does not have 12 digits.
-- This file also contains list_keys, create_first_key, limit_key and revoke_key.
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
                select count(*) from queue.list_keys(p_account_id) k
                where k.kind = p_kind and k.user_name = p_user
                    and k.revoked_at is null and coalesce(k.expires_at > clock_timestamp(), true))
                then 'TooManyKeys' end;
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

-- queue.list_keys: returns the account's keys without secrets, the oldest first. The list includes revoked and expired
-- keys.
--   `p_account_id` is null for the keys of all accounts.
create or replace function queue.list_keys(p_account_id text)
returns table (kind text, key_id text, account_id text, user_name text, created_at timestamptz,
    last_used_at timestamptz, expires_at timestamptz, revoked_at timestamptz, description text)
language sql stable as $$
    select 'access', k.access_key_id, k.account_id, k.user_name, k.created_at, k.last_used_at, k.expires_at,
        k.revoked_at, k.description
    from queue.access_key k where p_account_id is null or k.account_id = p_account_id
    union all
    select 'bearer', k.key_id, k.account_id, k.user_name, k.created_at, k.last_used_at, k.expires_at, k.revoked_at,
        k.description
    from queue.bearer_key k where p_account_id is null or k.account_id = p_account_id
    order by 5, 2
$$;

-- queue.create_first_key: stores an access key if no key of any kind has ever existed. Revoked keys also count: after
-- an operator has revoked the last key, a later start must not write a new key into a log. An advisory lock admits one
-- caller at a time.
create or replace function queue.create_first_key(
    p_key_id text, p_account_id text, p_secret bytea, p_description text)
returns table (created boolean)
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(queue.lock_key(6, 0, 0));
    insert into queue.access_key (access_key_id, account_id, sealed_secret, description)
    select p_key_id, p_account_id, p_secret, p_description
    where not exists (select from queue.access_key) and not exists (select from queue.bearer_key);
    return query select found;
end $$;

-- queue.limit_key: sets the time at which a key expires. Null means never. The column `found` says whether the key
-- exists.
create or replace function queue.limit_key(p_key_id text, p_expires_at timestamptz) returns table (found boolean)
language plpgsql as $$
begin
    update queue.access_key k set expires_at = p_expires_at where k.access_key_id = p_key_id;
    if not found then
        update queue.bearer_key k set expires_at = p_expires_at where k.key_id = p_key_id;
    end if;
    return query select found;
end $$;

-- queue.revoke_key: revokes a key. The column `revoked` says whether the key exists. A key that is already revoked
-- keeps its revocation time.
create or replace function queue.revoke_key(p_key_id text) returns table (revoked boolean)
language plpgsql as $$
begin
    update queue.access_key k set revoked_at = coalesce(k.revoked_at, now()) where k.access_key_id = p_key_id;
    if not found then
        update queue.bearer_key k set revoked_at = coalesce(k.revoked_at, now()) where k.key_id = p_key_id;
    end if;
    return query select found;
end $$;
