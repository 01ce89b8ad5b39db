-- queue.find_bearer_key(id): account and hash of the secret of a key of the REST API; no row when unknown or revoked.
-- Index: primary key. Called by: every request below /v1 whose key the process has not looked up lately.
create or replace function queue.find_bearer_key(p_key_id text)
returns table (account_id text, secret_hash bytea)
language sql stable as $$
    select k.account_id, k.secret_hash from queue.bearer_key k
    where k.key_id = p_key_id and k.revoked_at is null
$$;
