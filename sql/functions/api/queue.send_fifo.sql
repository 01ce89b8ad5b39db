-- queue.send_fifo(name, message, group, deduplication id, headers): sends one message to a FIFO queue inside the
-- caller's transaction; returns its id. Without a deduplication id (and without content-based deduplication) every
-- message counts as new. The group stays locked for other senders until the commit: that keeps the order.
-- Raises as queue.send_batch. SQL interface.
create or replace function queue.send_fifo(
    p_name text, p_message jsonb, p_group text, p_deduplication_id text default null, p_headers jsonb default null)
returns bigint
language plpgsql as $$
begin
    return (select s from queue.send_batch(p_name, array[p_message], array[p_headers], null, p_group,
        case when p_deduplication_id is not null then array[p_deduplication_id] end) s);
end $$;
