-- queue.list_opted_out(account, region, after, limit): phone numbers that are opted out, in order, after p_after (null: from the
-- first). Index: opted_out_number_pkey.
create or replace function queue.list_opted_out(p_account_id text, p_region text, p_after text, p_limit int)
returns table (phone_number text)
language sql stable as $$
select o.phone_number from queue.opted_out_number o
where o.account_id = p_account_id and o.region = p_region and o.opted_out and o.phone_number > coalesce(p_after, '')
order by o.phone_number limit p_limit
$$;
