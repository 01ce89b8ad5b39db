-- queue.archive(name, id): deletes a message and keeps it in the archive; false when there is none. Raises QU001.
-- SQL interface.
create or replace function queue.archive(p_name text, p_id bigint) returns boolean
language plpgsql as $$
begin
    return exists (select from queue.delete_by_id(queue.resolve(p_name), array[p_id], true));
end $$;
