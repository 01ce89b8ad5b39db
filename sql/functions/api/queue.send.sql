-- queue.send: sends a message inside the caller's transaction. Returns the message's id. Raises the same errors as
-- queue.send_batch. SQL interface.
create or replace function queue.send(
    name text, message jsonb, headers jsonb default null, delay int default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    return (select s from queue.send_documents(name, array[message], array[headers], delay, null, null) s);
end $$;
