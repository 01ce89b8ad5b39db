-- queue.put_schedule_group: creates a group. Returns the group as JSON by column. Returns an existing group with the
-- same client token unchanged. `error` is GroupExists or null.
-- This file also contains read_schedule_group and list_schedule_group_page.
create or replace function queue.put_schedule_group(
    p_account_id text, p_region text, p_name text, p_tags jsonb, p_client_token text)
returns table (schedule_group jsonb, created boolean, error text)
language plpgsql as $$
declare
    v_group queue.schedule_group;
begin
    if p_name <> 'default' then
        insert into queue.schedule_group (account_id, region, name, tags, client_token)
        values (p_account_id, p_region, p_name, coalesce(p_tags, '{}'), p_client_token)
        on conflict do nothing
        returning * into v_group;
        if found then
            return query select to_jsonb(v_group), true, null::text;
            return;
        end if;
    end if;
    select * into v_group from queue.schedule_group g
    where g.account_id = p_account_id and g.region = p_region and g.name = p_name;
    return query select to_jsonb(v_group), false,
        case when v_group.client_token is null or p_client_token is distinct from v_group.client_token
        then 'GroupExists' end;
end $$;

-- queue.read_schedule_group: returns a group as JSON by column. Returns no row if the group does not exist.
create or replace function queue.read_schedule_group(p_account_id text, p_region text, p_name text)
returns table (schedule_group jsonb)
language plpgsql as $$
begin
    perform queue.add_default_group(p_account_id, p_region);
    return query
    select to_jsonb(g) from queue.schedule_group g
    where g.account_id = p_account_id and g.region = p_region and g.name = p_name;
end $$;

-- queue.list_schedule_group_page: returns an account's groups in a region as JSON by column, by name. `p_after`
-- restricts the result to later names. Null means all names.
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
