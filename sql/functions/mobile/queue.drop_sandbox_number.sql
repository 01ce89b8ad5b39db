-- queue.drop_sandbox_number(account, region, number): removes a phone number from the SMS sandbox. Returns one row: whether it
-- was there.
create or replace function queue.drop_sandbox_number(p_account_id text, p_region text, p_phone_number text)
returns table (dropped boolean)
language plpgsql as $$
begin
    delete from queue.sandbox_number s
    where (s.account_id, s.region, s.phone_number) = (p_account_id, p_region, p_phone_number);
    return query select found;
end $$;
