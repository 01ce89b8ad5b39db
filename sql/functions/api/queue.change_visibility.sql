-- queue.change_visibility: makes a message visible in vt seconds. Returns the time at which the message becomes
-- visible. Returns null if the message does not exist. Raises QU001 if the queue does not exist. SQL interface.
create or replace function queue.change_visibility(name text, id bigint, vt int) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    return (select to_timestamp(v.visible_at_ms / 1000.0)
            from queue.change_visibility_by_id(queue.resolve(name), id, vt) v);
end $$;
