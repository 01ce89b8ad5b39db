-- queue.delete(name, id): deletes a message, whatever its state; false when there is none. Raises QU001. SQL interface.
create or replace function queue.delete(p_name text, p_id bigint) returns boolean
language plpgsql as $$
begin
    return exists (select from queue.delete_by_id(queue.resolve(p_name), array[p_id]));
end $$;
