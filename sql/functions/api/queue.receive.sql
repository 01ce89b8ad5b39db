-- queue.receive: receives up to `qty` messages and hides them from other receivers for `vt` seconds. A null `vt` means
-- the queue's visibility timeout. No other receiver can read the same shard until the transaction commits, so the
-- caller should commit soon. Raises QU001 if the queue does not exist, and QU004 under another isolation level than
-- READ COMMITTED. SQL interface.
create or replace function queue.receive(name text, vt int default null, qty int default 1)
returns setof queue.received_message
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    return query
    select d.public_id, d.receive_count, to_timestamp(d.sent_at_ms / 1000.0), to_timestamp(d.visible_at_ms / 1000.0),
        queue.as_json(d.body), queue.as_headers(d.attributes::jsonb)
    from queue.receive_messages(
        p_queue => queue.resolve(name), p_max => qty, p_lease_size => greatest(qty, 10), p_visibility_seconds => vt,
        p_in_flight_limit => null, p_async_commit => false, p_attempt_id => null) d
    where d.id is not null;
end $$;
