-- queue.unset_role_account(role): makes a database role stand for no account of its own any more. Returns one row:
-- whether it stood for one.
create or replace function queue.unset_role_account(p_role text) returns table (found boolean)
language plpgsql as $$
begin
    delete from queue.role_account r where r.role_name = p_role;
    return query select found;
end $$;
