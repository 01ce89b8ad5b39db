-- queue.find_access_key(id): account and encrypted secret of a key that signs requests; no row when it is unknown or
-- revoked.
-- Index: primary key. Called by: every signed request whose key the process has not looked up lately.
create or replace function queue.find_access_key(p_access_key_id text)
returns table (account_id text, sealed_secret bytea)
language sql stable as $$
    select k.account_id, k.sealed_secret from queue.access_key k
    where k.access_key_id = p_access_key_id and k.revoked_at is null
$$;
