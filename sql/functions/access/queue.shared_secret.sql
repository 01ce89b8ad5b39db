-- queue.shared_secret: returns the secret with this name, which all processes share. The first call stores p_new as the
-- secret.
create or replace function queue.shared_secret(p_name text, p_new bytea) returns table (value bytea)
language plpgsql as $$
begin
    insert into queue.secret (name, value) values (p_name, p_new) on conflict do nothing;
    return query select s.value from queue.secret s where s.name = p_name;
end $$;
