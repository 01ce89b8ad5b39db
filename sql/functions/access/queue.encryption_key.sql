-- queue.encryption_key(fingerprint, replace): the fingerprint of the installation's QUEUE_ENCRYPTION_KEY. The first
-- call with a p_fingerprint stores it; later ones do so with p_replace. Returns one row, which has null before.
create or replace function queue.encryption_key(p_fingerprint bytea, p_replace boolean)
returns table (fingerprint bytea)
language plpgsql as $$
begin
    if p_fingerprint is not null then
        insert into queue.secret (name, value) values ('encryption_key', p_fingerprint)
        on conflict (name) do update set value = excluded.value where p_replace;
    end if;
    return query select (select s.value from queue.secret s where s.name = 'encryption_key');
end $$;
