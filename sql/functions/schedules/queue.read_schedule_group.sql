-- queue.read_schedule_group(account, region, name): the group as JSON by column; no row: there is none.
create or replace function queue.read_schedule_group(p_account_id text, p_region text, p_name text)
returns table (schedule_group jsonb)
language plpgsql as $$
begin
    perform queue.add_default_group(p_account_id, p_region);
    return query
    select to_jsonb(g) from queue.schedule_group g
    where g.account_id = p_account_id and g.region = p_region and g.name = p_name;
end $$;
