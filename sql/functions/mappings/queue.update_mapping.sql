-- queue.update_mapping: changes an event source mapping and wakes the pollers. Returns the mapping or an error.
--   `p_function_arn` and `p_enabled` are null if the values do not change.
--   `p_options` changes only its members, so concurrent changes keep each other's members.
--   `p_filters` is the compiled FilterCriteria of p_options.
--   `error` is ResourceNotFoundException or MappingExists. MappingExists means that the queue has another mapping to
--     this function.
-- Locks the mapping's row.
create or replace function queue.update_mapping(
    p_account_id text, p_region text, p_mapping_id uuid, p_function_arn text, p_user_name text, p_options jsonb,
    p_filters jsonb, p_enabled boolean)
returns table (error text, mapping jsonb)
language plpgsql as $$
declare
    v_mapping queue.event_source_mapping;
begin
    update queue.event_source_mapping m
    set function_arn = coalesce(p_function_arn, m.function_arn), user_name = p_user_name,
        options = m.options || p_options,
        filters = case when p_options ? 'FilterCriteria' then p_filters else m.filters end,
        enabled = coalesce(p_enabled, m.enabled), reason = 'USER_INITIATED',
        updated_at = clock_timestamp(), revision = m.revision + 1
    where m.account_id = p_account_id and m.region = p_region and m.mapping_id = p_mapping_id
    returning * into v_mapping;
    if v_mapping.mapping_id is null then
        return query select 'ResourceNotFoundException'::text, null::jsonb;
        return;
    end if;
    perform queue.notify_processes('mappings');
    return query select null::text, queue.show_mapping(v_mapping);
exception when unique_violation then
    return query select 'MappingExists'::text, queue.show_mapping(o)
    from queue.event_source_mapping m join queue.event_source_mapping o on o.queue_arn = m.queue_arn
    where m.mapping_id = p_mapping_id and o.function_arn = p_function_arn;
end $$;
