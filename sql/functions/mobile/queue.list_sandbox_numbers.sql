-- queue.list_sandbox_numbers(account, region, after, limit): phone numbers of the SMS sandbox, in order, after p_after (null: from
-- the first). Index: sandbox_number_pkey.
create or replace function queue.list_sandbox_numbers(p_account_id text, p_region text, p_after text, p_limit int)
returns table (phone_number text, verified boolean)
language sql stable as $$
select s.phone_number, s.verified from queue.sandbox_number s
where s.account_id = p_account_id and s.region = p_region and s.phone_number > coalesce(p_after, '')
order by s.phone_number limit p_limit
$$;
