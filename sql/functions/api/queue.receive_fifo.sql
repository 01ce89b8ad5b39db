-- queue.receive_fifo: calls queue.receive. SQL interface.
create or replace function queue.receive_fifo(name text, vt int default null, qty int default 1)
returns setof queue.received_message
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    return query select * from queue.receive(name, vt, qty);
end $$;
