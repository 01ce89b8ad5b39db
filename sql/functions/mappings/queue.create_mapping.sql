-- queue.create_mapping: stores an event source mapping and wakes the pollers. Returns the mapping (queue.show_mapping)
-- or an error. `error` is QueueDoesNotExist or MappingExists. MappingExists comes with the existing mapping.
create or replace function queue.create_mapping(
    p_account_id text, p_region text, p_queue_arn text, p_function_arn text, p_user_name text, p_options jsonb,
    p_filters jsonb, p_enabled boolean, p_tags jsonb)
returns table (error text, mapping jsonb)
language plpgsql as $$
declare
    v_mapping queue.event_source_mapping;
begin
    if not exists (select from queue.queues q where q.arn = p_queue_arn) then
        return query select 'QueueDoesNotExist'::text, null::jsonb;
        return;
    end if;
    insert into queue.event_source_mapping (
        account_id, region, queue_arn, function_arn, user_name, options, filters, enabled, tags)
    values (p_account_id, p_region, p_queue_arn, p_function_arn, p_user_name, p_options, p_filters, p_enabled, p_tags)
    on conflict (queue_arn, function_arn) do nothing
    returning * into v_mapping;
    if v_mapping.mapping_id is null then
        return query select 'MappingExists'::text, queue.show_mapping(m) from queue.event_source_mapping m
        where m.queue_arn = p_queue_arn and m.function_arn = p_function_arn;
        return;
    end if;
    perform queue.notify_processes('mappings');
    return query select null::text, queue.show_mapping(v_mapping);
end $$;
