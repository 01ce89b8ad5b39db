-- queue.limit_key(id, expires): when a key expires; null: never. Returns one row: whether there is such a key.
create or replace function queue.limit_key(p_key_id text, p_expires_at timestamptz) returns table (found boolean)
language plpgsql as $$
begin
    update queue.access_key k set expires_at = p_expires_at where k.access_key_id = p_key_id;
    if not found then
        update queue.bearer_key k set expires_at = p_expires_at where k.key_id = p_key_id;
    end if;
    return query select found;
end $$;
