-- The keys of users: creation, look-up, and the keys that the service uses.

-- queue.create_key: stores a new key.
--   `p_kind` is 'access' or 'bearer'.
--   `p_secret` is the encrypted secret of an access key, or the hash of a bearer key's secret.
--   `p_user` is null if the key belongs to the account itself.
--   `p_expires_at` is null if the key does not expire.
--   `created` is false if the id is taken or `error` is set.
--   `error` is UnknownUser or TooManyKeys.
-- A user can have two valid keys of a kind, as in IAM, so that the new key can replace the old key. Locks the user's
-- row. Raises 23514 if the account does not have 12 digits.
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

-- queue.find_access_key: returns a valid key that signs requests, and records its use. Returns no row if the key is
-- unknown, expired or revoked. If the key belongs to a user, `user_name` and `policies` describe the user. Both columns
-- are null if the key belongs to the account itself.
create or replace function queue.find_access_key(p_access_key_id text)
returns table (account_id text, sealed_secret bytea, user_name text, policies text[], expires_at timestamptz)
language plpgsql as $$
#variable_conflict use_column
begin
    update queue.access_key k set last_used_at = clock_timestamp()
    where k.access_key_id = p_access_key_id and k.revoked_at is null
        and coalesce(k.last_used_at < clock_timestamp() - interval '1 minute', true);
    return query
    select k.account_id, k.sealed_secret, k.user_name, u.policies, k.expires_at
    from queue.access_key k
    left join queue.account_user u on u.account_id = k.account_id and u.name = k.user_name
    where k.access_key_id = p_access_key_id and k.revoked_at is null
        and coalesce(k.expires_at > clock_timestamp(), true);
end $$;

-- queue.find_bearer_key: returns a valid key of the REST API, and records its use. Returns no row if the key is
-- unknown, expired or revoked. If the key belongs to a user, `user_name` and `policies` describe the user. Both columns
-- are null if the key belongs to the account itself.
create or replace function queue.find_bearer_key(p_key_id text)
returns table (account_id text, secret_hash bytea, user_name text, policies text[], expires_at timestamptz)
language plpgsql as $$
#variable_conflict use_column
begin
    update queue.bearer_key k set last_used_at = clock_timestamp()
    where k.key_id = p_key_id and k.revoked_at is null
        and coalesce(k.last_used_at < clock_timestamp() - interval '1 minute', true);
    return query
    select k.account_id, k.secret_hash, k.user_name, u.policies, k.expires_at
    from queue.bearer_key k
    left join queue.account_user u on u.account_id = k.account_id and u.name = k.user_name
    where k.key_id = p_key_id and k.revoked_at is null and coalesce(k.expires_at > clock_timestamp(), true);
end $$;

-- queue.current_signing_key: returns the key that currently signs SNS messages. Returns no row before the first key
-- exists.
create or replace function queue.current_signing_key()
returns table (key_id text, sealed boolean, private_key bytea)
language sql stable as $$
select k.key_id, k.sealed, k.private_key from queue.signing_key k
where k.retired_at is null order by k.created_at desc limit 1
$$;

-- queue.shared_secret: returns the secret with this name, which all processes share. The first call stores p_new as the
-- secret.
create or replace function queue.shared_secret(p_name text, p_new bytea) returns table (value bytea)
language plpgsql as $$
begin
    insert into queue.secret (name, value) values (p_name, p_new) on conflict do nothing;
    return query select s.value from queue.secret s where s.name = p_name;
end $$;

-- queue.add_signing_key: stores a signing key if the installation has none. Returns the current signing key. If
-- p_rotate is true, the new key replaces the current key. Deletes the private part of a replaced key at once, because
-- no process signs with this key any more. Keeps a replaced key's certificate. An advisory lock admits one caller at a
-- time.
create or replace function queue.add_signing_key(
    p_key_id text, p_sealed boolean, p_private_key bytea, p_certificate text, p_rotate boolean)
returns table (key_id text, sealed boolean, private_key bytea)
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(queue.lock_key(5, 0, 0));
    if p_rotate then
        update queue.signing_key k set retired_at = clock_timestamp(), private_key = ''::bytea
        where k.retired_at is null;
    end if;
    if not exists (select from queue.signing_key k where k.retired_at is null) then
        insert into queue.signing_key (key_id, sealed, private_key, certificate)
        values (p_key_id, p_sealed, p_private_key, p_certificate);
    end if;
    return query select * from queue.current_signing_key();
end $$;

-- queue.find_certificate: returns the certificate of a signing key, or of the current key if p_key_id is null.
create or replace function queue.find_certificate(p_key_id text) returns table (certificate text)
language sql stable as $$
select k.certificate from queue.signing_key k
where k.key_id = p_key_id or (p_key_id is null and k.retired_at is null)
order by k.created_at desc limit 1
$$;

-- queue.sealed_keys: returns the secrets that QUEUE_ENCRYPTION_KEY encrypts. The rows are the newest 10,000 valid
-- access keys, the newest 10,000 webhooks and connections, and the key that signs SNS messages.
--   `kind` is access, webhook, connection or signing.
--   `key_id` is the ARN of a webhook's event source or of a connection.
--   `account_id` is null for a signing key.
--   `sealed` is the encrypted secret.
create or replace function queue.sealed_keys()
returns table (kind text, key_id text, account_id text, sealed bytea)
language sql stable as $$
(
    select 'access', k.access_key_id, k.account_id, k.sealed_secret from queue.access_key k
    where k.revoked_at is null and coalesce(k.expires_at > clock_timestamp(), true)
    order by k.created_at desc, k.access_key_id limit 10000
)
union all
(
    select 'webhook', s.arn, s.account_id, w.secret
    from queue.event_webhook w join queue.event_source s using (source_id) order by w.source_id desc limit 10000
)
union all
(
    select 'connection', c.arn, c.account_id, c.sealed_parameters from queue.connection c
    order by c.created_at desc, c.arn limit 10000
)
union all
select 'signing', k.key_id, null, k.private_key from queue.current_signing_key() k where k.sealed
$$;

-- queue.encryption_key: returns the fingerprint of the installation's QUEUE_ENCRYPTION_KEY. The first call with a
-- p_fingerprint stores this fingerprint. A later call replaces the stored fingerprint only if p_replace is true.
-- Returns null before the first fingerprint is stored.
create or replace function queue.encryption_key(p_fingerprint bytea, p_replace boolean)
returns table (fingerprint bytea)
language plpgsql as $$
begin
    if p_fingerprint is not null then
        insert into queue.secret (name, value) values ('encryption_key', p_fingerprint)
        on conflict (name) do update set value = excluded.value where p_replace;
    end if;
    return query select (select s.value from queue.secret s where s.name = 'encryption_key');
end $$;
