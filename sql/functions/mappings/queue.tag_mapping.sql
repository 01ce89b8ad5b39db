-- queue.tag_mapping: adds and removes tags of an event source mapping. `error` is ResourceNotFoundException or
-- TagLimitExceeded (more than 50 tags). Locks the mapping's row.
create or replace function queue.tag_mapping(
    p_account_id text, p_region text, p_mapping_id uuid, p_tags jsonb, p_removed text[])
returns table (error text)
language plpgsql as $$
declare
    v_tags jsonb;
begin
    select (m.tags || p_tags) - p_removed into v_tags
    from queue.event_source_mapping m
    where m.account_id = p_account_id and m.region = p_region and m.mapping_id = p_mapping_id for update;
    error := case when v_tags is null then 'ResourceNotFoundException'
        when (select count(*) from jsonb_object_keys(v_tags)) > 50 then 'TagLimitExceeded' end;
    if error is null then
        update queue.event_source_mapping m set tags = v_tags where m.mapping_id = p_mapping_id;
    end if;
    return next;
end $$;
