-- queue.sealed_keys: returns the secrets that QUEUE_ENCRYPTION_KEY encrypts. The rows are the newest 10,000 valid
-- access keys and the key that signs SNS messages.
--   `kind` is access or signing.
--   `account_id` is null for a signing key.
--   `sealed` is the encrypted secret.
-- This file also contains encryption_key.
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
