-- queue.add_signing_key: stores a signing key if the installation has none. Returns the current signing key. If
-- p_rotate is true, the new key replaces the current key. Deletes the private part of a replaced key at once, because
-- no process signs with this key any more. Keeps a replaced key's certificate. An advisory lock admits one caller at a
-- time. This file also contains find_certificate.
create or replace function queue.add_signing_key(
    p_key_id text, p_sealed boolean, p_private_key bytea, p_certificate text, p_rotate boolean)
returns table (key_id text, sealed boolean, private_key bytea)
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(queue.lock_key(5, 0, 0));
    if p_rotate then
        update queue.signing_key k set retired_at = clock_timestamp(), private_key = ''::bytea
        where k.retired_at is null;
    end if;
    if not exists (select from queue.signing_key k where k.retired_at is null) then
        insert into queue.signing_key (key_id, sealed, private_key, certificate)
        values (p_key_id, p_sealed, p_private_key, p_certificate);
    end if;
    return query select * from queue.current_signing_key();
end $$;

-- queue.find_certificate: returns the certificate of a signing key, or of the current key if p_key_id is null.
create or replace function queue.find_certificate(p_key_id text) returns table (certificate text)
language sql stable as $$
select k.certificate from queue.signing_key k
where k.key_id = p_key_id or (p_key_id is null and k.retired_at is null)
order by k.created_at desc limit 1
$$;
