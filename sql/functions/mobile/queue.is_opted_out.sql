-- queue.is_opted_out: returns whether a phone number is opted out.
create or replace function queue.is_opted_out(p_account_id text, p_region text, p_phone_number text)
returns table (opted_out boolean)
language sql stable as $$
select exists (
    select from queue.opted_out_number o
    where (o.account_id, o.region, o.phone_number) = (p_account_id, p_region, p_phone_number) and o.opted_out)
$$;
