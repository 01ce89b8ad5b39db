-- queue.find_access_key: returns a valid key that signs requests, and records its use. Returns no row if the key is
-- unknown, expired or revoked. If the key belongs to a user, `user_name` and `policies` describe the user. Both columns
-- are null if the key belongs to the account itself.
-- This file also contains find_bearer_key.
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
