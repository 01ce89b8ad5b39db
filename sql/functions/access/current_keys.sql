-- The current key for SNS messages, and the secret that processes share.

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
-- access keys and the key that signs SNS messages.
--   `kind` is access or signing.
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
