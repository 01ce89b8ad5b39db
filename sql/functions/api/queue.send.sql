-- queue.send(name, message, headers, delay): sends one message inside the caller's transaction; returns its id.
-- Raises as queue.send_batch. SQL interface.
create or replace function queue.send(
    p_name text, p_message jsonb, p_headers jsonb default null, p_delay int default null) returns bigint
language plpgsql as $$
begin
    return (select s from queue.send_batch(p_name, array[p_message], array[p_headers], p_delay) s);
end $$;
