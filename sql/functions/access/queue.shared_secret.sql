-- queue.shared_secret(name, new): the secret of that name, which all processes share. The first call stores its p_new
-- as the secret; later calls return it.
create or replace function queue.shared_secret(p_name text, p_new bytea) returns table (value bytea)
language plpgsql as $$
begin
    insert into queue.secret (name, value) values (p_name, p_new) on conflict do nothing;
    return query select s.value from queue.secret s where s.name = p_name;
end $$;
