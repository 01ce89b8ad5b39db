-- The current key for SNS messages, and the secret that processes share.

-- queue.current_signing_key: returns the key that currently signs SNS messages. Returns no row before the first key
-- exists.
create or replace function queue.current_signing_key()
returns table (key_id text, sealed boolean, private_key bytea)
language sql stable as $$
select k.key_id, k.sealed, k.private_key from queue.signing_key k
where k.retired_at is null order by k.created_at desc limit 1
$$;

-- queue.shared_secret: returns the secret with this name, which all processes share. The first call stores p_new as the
-- secret.
create or replace function queue.shared_secret(p_name text, p_new bytea) returns table (value bytea)
language plpgsql as $$
begin
    insert into queue.secret (name, value) values (p_name, p_new) on conflict do nothing;
    return query select s.value from queue.secret s where s.name = p_name;
end $$;
