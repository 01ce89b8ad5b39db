-- queue.receive(name, vt, qty): up to p_qty messages, invisible to others for p_vt seconds (null: the queue's own).
-- Commit soon: until then, the shard that is read has no other reader. Raises QU001, QU004. SQL interface.
create or replace function queue.receive(p_name text, p_vt int default null, p_qty int default 1)
returns table (msg_id bigint, read_ct int, enqueued_at timestamptz, vt timestamptz, message jsonb, headers jsonb)
language plpgsql as $$
begin
    return query
    select d.public_id, d.receive_count, to_timestamp(d.sent_at_ms / 1000.0), to_timestamp(d.visible_at_ms / 1000.0),
        queue.as_json(d.body), queue.as_headers(d.attributes::jsonb)
    from queue.receive_messages(queue.resolve(p_name), p_qty, greatest(p_qty, 10), p_vt) d
    where d.id is not null;
end $$;
