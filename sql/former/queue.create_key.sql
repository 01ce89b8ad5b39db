-- queue.create_key(kind, id, account, secret, description): a key of the account itself, which does not expire.
-- Called by: `penstock keys create` of the previous release.
drop function if exists queue.create_key(text, text, text, bytea, text);
create function queue.create_key(
    p_kind text, p_key_id text, p_account_id text, p_secret bytea, p_description text)
returns table (created boolean)
language sql as $$
select k.created from queue.create_key(p_kind, p_key_id, p_account_id, p_secret, p_description, null, null) k
$$;
