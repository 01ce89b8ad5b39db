-- queue.delete_queue(name): deletes a queue and its messages. Returns false if the queue does not exist. SQL interface.
create or replace function queue.delete_queue(name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    return (select d.error is null from queue.drop_queue(queue.resolve(name)) d);
exception when sqlstate 'QU001' then
    return false;
end $$;
