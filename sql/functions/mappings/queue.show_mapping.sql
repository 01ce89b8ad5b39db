-- queue.show_mapping: returns an event source mapping as JSON for the API and the pollers. `updated_at` and
-- `failing_since` are in seconds since 1970.
create or replace function queue.show_mapping(p_mapping queue.event_source_mapping) returns jsonb
language sql immutable as $$
select to_jsonb(p_mapping) - 'poller_id' || jsonb_build_object(
    'updated_at', round(extract(epoch from p_mapping.updated_at), 3),
    'failing_since', round(extract(epoch from p_mapping.failing_since), 3))
$$;
