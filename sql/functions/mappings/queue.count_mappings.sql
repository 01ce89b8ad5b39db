-- queue.count_mappings: adds to the counts of event source mappings. Ignores deleted mappings. Locks the mappings' rows
-- in the order of their ids.
create or replace function queue.count_mappings(p_mapping_ids uuid[], p_invocations bigint[], p_failed bigint[])
returns table (known bigint)
language plpgsql as $$
begin
    with counted as materialized (
        select m.mapping_id, c.invocations, c.failed
        from unnest(p_mapping_ids, p_invocations, p_failed) c(mapping_id, invocations, failed)
        join queue.event_source_mapping m using (mapping_id)
        order by m.mapping_id for update of m)
    update queue.event_source_mapping m
    set invocations = m.invocations + c.invocations, failed_invocations = m.failed_invocations + c.failed
    from counted c where m.mapping_id = c.mapping_id;
    get diagnostics known = row_count;
    return next;
end $$;
