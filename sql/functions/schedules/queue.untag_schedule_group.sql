-- queue.untag_schedule_group(account, region, name, keys): removes tags; a key that is not there is no error.
-- Returns one row: error GroupNotFound or null.
create or replace function queue.untag_schedule_group(p_account_id text, p_region text, p_name text, p_keys text[])
returns table (error text)
language plpgsql as $$
begin
    perform queue.add_default_group(p_account_id, p_region);
    update queue.schedule_group g set tags = g.tags - p_keys, updated_at = clock_timestamp()
    where g.account_id = p_account_id and g.region = p_region and g.name = p_name;
    return query select case when not found then 'GroupNotFound' end;
end $$;
