-- queue.drop_mapping: deletes an event source mapping and wakes the pollers. Returns the deleted mapping. Returns no
-- row if the mapping does not exist.
create or replace function queue.drop_mapping(p_account_id text, p_region text, p_mapping_id uuid)
returns table (mapping jsonb)
language plpgsql as $$
begin
    return query
    delete from queue.event_source_mapping m
    where m.account_id = p_account_id and m.region = p_region and m.mapping_id = p_mapping_id
    returning queue.show_mapping(m);
    if found then
        perform queue.notify_processes('mappings');
    end if;
end $$;
