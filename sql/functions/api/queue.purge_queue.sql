-- queue.purge_queue(name): deletes every message; returns how many. Raises QU001. SQL interface.
create or replace function queue.purge_queue(p_name text) returns bigint
language plpgsql as $$
begin
    return (select p.purged from queue.purge_messages(queue.resolve(p_name), 0) p);
end $$;
