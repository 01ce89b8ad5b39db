-- queue.create_key(kind, id, account, secret, description): stores a new key. p_kind is 'access' (p_secret is
-- encrypted) or 'bearer' (p_secret is a hash). Returns one row: created, false when the id is taken.
-- Raises 23514 for an account that is not 12 digits. Called by: `penstock keys create`.
create or replace function queue.create_key(
    p_kind text, p_key_id text, p_account_id text, p_secret bytea, p_description text
) returns table (created boolean)
language plpgsql as $$
begin
    if p_kind = 'bearer' then
        insert into queue.bearer_key (key_id, account_id, secret_hash, description)
        values (p_key_id, p_account_id, p_secret, p_description) on conflict do nothing;
    else
        insert into queue.access_key (access_key_id, account_id, sealed_secret, description)
        values (p_key_id, p_account_id, p_secret, p_description) on conflict do nothing;
    end if;
    return query select found;
end $$;
