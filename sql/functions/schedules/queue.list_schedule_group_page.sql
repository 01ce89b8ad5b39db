-- queue.list_schedule_group_page: an account's groups in a region as JSON by column, in the order of names, after
-- p_after (null: all). Index: schedule_group_pkey.
create or replace function queue.list_schedule_group_page(
    p_account_id text, p_region text, p_name_prefix text, p_after text, p_limit int)
returns table (schedule_group jsonb)
language plpgsql as $$
begin
    perform queue.add_default_group(p_account_id, p_region);
    return query
    select to_jsonb(g) from queue.schedule_group g
    where g.account_id = p_account_id and g.region = p_region and starts_with(g.name, coalesce(p_name_prefix, ''))
        and g.name > coalesce(p_after, '')
    order by g.name
    limit p_limit;
end $$;
