-- queue.create_first_key(id, account, secret, description): stores an access key when there has never been a key of any
-- kind. Revoked ones count: whoever has revoked the last key does not want the next start to write a new one into a log.
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
