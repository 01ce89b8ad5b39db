-- queue.current_signing_key: returns the key that currently signs SNS messages. Returns no row before the first key
-- exists.
create or replace function queue.current_signing_key()
returns table (key_id text, sealed boolean, private_key bytea)
language sql stable as $$
select k.key_id, k.sealed, k.private_key from queue.signing_key k
where k.retired_at is null order by k.created_at desc limit 1
$$;
