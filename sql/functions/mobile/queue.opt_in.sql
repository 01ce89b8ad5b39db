-- queue.opt_in(account, region, number): a phone number gets text messages again; one that was not opted out stays as it is.
-- Returns one row: error (TooSoon: it was opted in within the last 30 days; source: OptInPhoneNumber, API reference) or null.
create or replace function queue.opt_in(p_account_id text, p_region text, p_phone_number text) returns table (error text)
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
