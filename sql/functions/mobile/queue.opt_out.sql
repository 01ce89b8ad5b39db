-- queue.opt_out(account, region, number): the holder of a phone number wants no more text messages of an account in a region.
-- Returns one row: whether the number was not opted out before.
create or replace function queue.opt_out(p_account_id text, p_region text, p_phone_number text) returns table (changed boolean)
language plpgsql as $$
begin
    insert into queue.opted_out_number as o (account_id, region, phone_number, opted_out)
    values (p_account_id, p_region, p_phone_number, true)
    on conflict (account_id, region, phone_number) do update set opted_out = true where not o.opted_out;
    return query select found;
end $$;
