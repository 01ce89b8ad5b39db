-- queue.create_fifo: creates a FIFO queue. Returns the queue's ARN. Adds `.fifo` to a name without this suffix. Raises
-- the same errors as queue.create. SQL interface.
create or replace function queue.create_fifo(name text, attributes jsonb default '{}') returns text
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    return queue.create(regexp_replace(name, '[.]fifo$', '') || '.fifo', attributes);
end $$;
