-- queue.receive_fifo(name, vt, qty): queue.receive, under the name that goes with queue.send_fifo. SQL interface.
create or replace function queue.receive_fifo(p_name text, p_vt int default null, p_qty int default 1)
returns table (msg_id bigint, read_ct int, enqueued_at timestamptz, vt timestamptz, message jsonb, headers jsonb)
language plpgsql as $$
begin
    return query select * from queue.receive(p_name, p_vt, p_qty);
end $$;
