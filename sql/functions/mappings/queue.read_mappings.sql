-- queue.read_mappings(ids): event source mappings as JSON. Index: primary key.
create or replace function queue.read_mappings(p_mapping_ids uuid[])
returns table (mapping jsonb)
language sql stable as $$
select queue.show_mapping(m) from queue.event_source_mapping m where m.mapping_id = any (p_mapping_ids)
$$;
