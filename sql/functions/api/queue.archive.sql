-- queue.archive: deletes a message and stores a copy in the archive. Returns false if the message does not exist.
-- Raises QU001 if the queue does not exist. SQL interface.
create or replace function queue.archive(name text, id bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    return exists (select from queue.delete_by_id(queue.resolve(name), array[archive.id], true));
end $$;
