-- queue.opt_in: allows text messages to a phone number again. `error` is TooSoon if the account opted the number in
-- within the last 30 days (OptInPhoneNumber, API reference). Does not change a number that is not opted out.
-- This file also contains opt_out and list_opted_out.
create or replace function queue.opt_in(p_account_id text, p_region text, p_phone_number text)
returns table (error text)
language plpgsql as $$
declare
    v_number queue.opted_out_number;
begin
    select * into v_number from queue.opted_out_number o
    where (o.account_id, o.region, o.phone_number) = (p_account_id, p_region, p_phone_number) for update;
    if v_number.opted_out and v_number.opted_in_at > clock_timestamp() - interval '30 days' then
        return query select 'TooSoon'::text;
        return;
    end if;
    update queue.opted_out_number o set opted_out = false, opted_in_at = clock_timestamp()
    where (o.account_id, o.region, o.phone_number) = (p_account_id, p_region, p_phone_number) and o.opted_out;
    return query select null::text;
end $$;

-- queue.opt_out: stops an account's text messages to a phone number in a region, on the request of the phone's owner.
-- `changed` is true if the number was not opted out before.
create or replace function queue.opt_out(p_account_id text, p_region text, p_phone_number text)
returns table (changed boolean)
language plpgsql as $$
begin
    insert into queue.opted_out_number as o (account_id, region, phone_number, opted_out)
    values (p_account_id, p_region, p_phone_number, true)
    on conflict (account_id, region, phone_number) do update set opted_out = true where not o.opted_out;
    return query select found;
end $$;

-- queue.list_opted_out: returns opted-out phone numbers in order. `p_after` restricts the result to later numbers. Null
-- means all numbers.
create or replace function queue.list_opted_out(p_account_id text, p_region text, p_after text, p_limit int)
returns table (phone_number text)
language sql stable as $$
select o.phone_number from queue.opted_out_number o
where o.account_id = p_account_id and o.region = p_region and o.opted_out and o.phone_number > coalesce(p_after, '')
order by o.phone_number limit p_limit
$$;
