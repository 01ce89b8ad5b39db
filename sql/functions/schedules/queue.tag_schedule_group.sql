-- queue.tag_schedule_group: adds tags or replaces their values. A group can have at most p_limit tags. `error` is
-- GroupNotFound or TagLimitExceeded.
-- This file also contains untag_schedule_group.
create or replace function queue.tag_schedule_group(
    p_account_id text, p_region text, p_name text, p_tags jsonb, p_limit int)
returns table (error text)
language plpgsql as $$
declare
    v_count int;
begin
    perform queue.add_default_group(p_account_id, p_region);
    select (select count(*) from jsonb_object_keys(g.tags || p_tags)) into v_count
    from queue.schedule_group g
    where g.account_id = p_account_id and g.region = p_region and g.name = p_name for update;
    if v_count <= p_limit then
        update queue.schedule_group g set tags = g.tags || p_tags, updated_at = clock_timestamp()
        where g.account_id = p_account_id and g.region = p_region and g.name = p_name;
    end if;
    return query select case when v_count is null then 'GroupNotFound'
        when v_count > p_limit then 'TagLimitExceeded' end;
end $$;

-- queue.untag_schedule_group: removes tags. Ignores missing keys. `error` is GroupNotFound or null.
create or replace function queue.untag_schedule_group(p_account_id text, p_region text, p_name text, p_keys text[])
returns table (error text)
language plpgsql as $$
begin
    perform queue.add_default_group(p_account_id, p_region);
    update queue.schedule_group g set tags = g.tags - p_keys, updated_at = clock_timestamp()
    where g.account_id = p_account_id and g.region = p_region and g.name = p_name;
    return query select case when not found then 'GroupNotFound' end;
end $$;
