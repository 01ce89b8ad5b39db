-- queue.receive: receives up to `qty` messages and hides them from other receivers for `vt` seconds. A null `vt` means
-- the queue's visibility timeout. No other receiver can read the same shard until the transaction commits, so the
-- caller should commit soon. Raises QU001 if the queue does not exist, and QU004 under another isolation level than
-- READ COMMITTED. SQL interface.
create or replace function queue.receive(name text, vt int default null, qty int default 1)
returns setof queue.received_message
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
declare
    v_arn text := queue.resolve(name);
    v_rows queue.received_row[];
begin
    if not exists (select from queue.queues q where q.arn = v_arn and q.traces) then
        return query
        select d.public_id, d.receive_count, to_timestamp(d.sent_at_ms / 1000.0),
            to_timestamp(d.visible_at_ms / 1000.0), queue.as_json(d.body), queue.as_headers(d.attributes::jsonb)
        from queue.receive_messages(
            p_queue => v_arn, p_max => qty, p_lease_size => greatest(qty, 10), p_visibility_seconds => vt,
            p_in_flight_limit => null, p_async_commit => false) d
        where d.id is not null;
        return;
    end if;
    v_rows := array(
        select d::queue.received_row from queue.receive_messages(
            p_queue => v_arn, p_max => qty, p_lease_size => greatest(qty, 10), p_visibility_seconds => vt,
            p_in_flight_limit => null, p_async_commit => false) d
        where d.id is not null);
    perform queue.trace_receive(
        (select q.queue_id from queue.queues q where q.arn = v_arn),
        array(select d.message_id::uuid from unnest(v_rows) with ordinality d order by d.ordinality),
        array(select d.public_id from unnest(v_rows) with ordinality d order by d.ordinality),
        array(select d.receive_count from unnest(v_rows) with ordinality d order by d.ordinality),
        array(select d.sent_at_ms from unnest(v_rows) with ordinality d order by d.ordinality),
        session_user::text, current_setting('application_name'));
    return query
    select d.public_id, d.receive_count, to_timestamp(d.sent_at_ms / 1000.0), to_timestamp(d.visible_at_ms / 1000.0),
        queue.as_json(d.body), queue.as_headers(d.attributes::jsonb)
    from unnest(v_rows) with ordinality d order by d.ordinality;
end $$;
