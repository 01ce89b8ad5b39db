-- queue.list_keys(): every key, the oldest first, without secrets; revoked and expired ones too.
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
