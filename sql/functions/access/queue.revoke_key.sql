-- queue.revoke_key(id): revokes a key: from now on find_access_key and find_bearer_key do not return it. Returns one
-- row: revoked, false when there is no such key; a key that was revoked before keeps its time.
create or replace function queue.revoke_key(p_key_id text) returns table (revoked boolean)
language plpgsql as $$
begin
    update queue.access_key k set revoked_at = coalesce(k.revoked_at, now()) where k.access_key_id = p_key_id;
    if not found then
        update queue.bearer_key k set revoked_at = coalesce(k.revoked_at, now()) where k.key_id = p_key_id;
    end if;
    return query select found;
end $$;
