-- queue.find_certificate(key id): the certificate of a signing key; for null, of the key that signs now.
create or replace function queue.find_certificate(p_key_id text) returns table (certificate text)
language sql stable as $$
select k.certificate from queue.signing_key k
where k.key_id = p_key_id or (p_key_id is null and k.retired_at is null)
order by k.created_at desc limit 1
$$;
