-- queue.purge_queue(name): deletes every message of a queue. Returns their number. Raises QU001. SQL interface.
create or replace function queue.purge_queue(name text) returns bigint
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    return (select p.purged from queue.purge_messages(queue.resolve(name), 0) p);
end $$;
