-- queue.report_mapping: stores the result of an event source mapping's last batch. If p_reason is not null, and the
-- mapping still has this revision, disables the mapping and stores the reason. The first result other than OK sets
-- failing_since. The result OK clears failing_since. Locks the mapping's row.
create or replace function queue.report_mapping(p_mapping_id uuid, p_revision bigint, p_result text, p_reason text)
returns table (known boolean)
language plpgsql as $$
begin
    update queue.event_source_mapping m
    set last_result = p_result,
        failing_since = case when p_result = 'OK' then null else coalesce(m.failing_since, clock_timestamp()) end,
        enabled = m.enabled and p_reason is null, reason = coalesce(p_reason, m.reason)
    where m.mapping_id = p_mapping_id and m.revision = p_revision;
    known := found;
    return next;
end $$;
