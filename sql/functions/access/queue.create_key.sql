-- queue.create_key(kind, id, account, secret, description, user, expires): stores a new key. p_kind is 'access'
-- (p_secret is encrypted) or 'bearer' (p_secret is a hash). If p_user is null, the key belongs to the account itself.
-- If p_expires_at is null, the key does not expire. Returns one row: created (false if the id is taken), and error:
-- UnknownUser, or TooManyKeys: a user has two keys of a kind that are neither revoked nor expired (as in IAM), so that
-- one can replace the other. Raises 23514 for an account that does not have 12 digits. Locks: the user's row.
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

-- queue.list_keys(): returns every key, the oldest first, without secrets. The list includes revoked and expired
-- keys.
create or replace function queue.list_keys()
returns table (kind text, key_id text, account_id text, user_name text, created_at timestamptz, last_used_at timestamptz,
    expires_at timestamptz, revoked_at timestamptz, description text)
language sql stable as $$
    select 'access', k.access_key_id, k.account_id, k.user_name, k.created_at, k.last_used_at, k.expires_at, k.revoked_at,
        k.description
    from queue.access_key k
    union all
    select 'bearer', k.key_id, k.account_id, k.user_name, k.created_at, k.last_used_at, k.expires_at, k.revoked_at,
        k.description
    from queue.bearer_key k
    order by 5, 2
$$;

-- queue.create_first_key(id, account, secret, description): stores an access key if no key of any kind has ever existed.
-- Revoked keys count: after an operator has revoked the last key, the next start must not write a new key into a log.
-- Returns one row: created. Locks: advisory, one caller at a time.
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

-- queue.limit_key(id, expires): sets when a key expires; null: never. Returns one row: whether the key exists.
create or replace function queue.limit_key(p_key_id text, p_expires_at timestamptz) returns table (found boolean)
language plpgsql as $$
begin
    update queue.access_key k set expires_at = p_expires_at where k.access_key_id = p_key_id;
    if not found then
        update queue.bearer_key k set expires_at = p_expires_at where k.key_id = p_key_id;
    end if;
    return query select found;
end $$;

-- queue.revoke_key(id): revokes a key. From then on, find_access_key and find_bearer_key do not return the key. Returns
-- one row: revoked, false if the key does not exist. A key that was revoked before keeps the time of the first
-- revocation.
create or replace function queue.revoke_key(p_key_id text) returns table (revoked boolean)
language plpgsql as $$
begin
    update queue.access_key k set revoked_at = coalesce(k.revoked_at, now()) where k.access_key_id = p_key_id;
    if not found then
        update queue.bearer_key k set revoked_at = coalesce(k.revoked_at, now()) where k.key_id = p_key_id;
    end if;
    return query select found;
end $$;
