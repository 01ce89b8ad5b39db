-- queue.change_visibility(name, id, vt): the message becomes visible in p_vt seconds; returns when, null when there is
-- no such message. Raises QU001. SQL interface.
create or replace function queue.change_visibility(p_name text, p_id bigint, p_vt int) returns timestamptz
language plpgsql as $$
begin
    return (select to_timestamp(v.visible_at_ms / 1000.0)
            from queue.change_visibility_by_id(queue.resolve(p_name), p_id, p_vt) v);
end $$;
