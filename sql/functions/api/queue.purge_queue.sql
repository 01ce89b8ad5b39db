-- queue.purge_queue(name): deletes every message of a queue. Returns how many. Raises QU001. SQL interface.
do $$ begin     -- `create or replace` cannot rename the parameters that the previous release gave it
    if 'p_name' = any ((
        select proargnames from pg_proc where oid = to_regprocedure('queue.purge_queue(text)'))::text[])
    then
        drop function queue.purge_queue(text);
    end if;
end $$;
create or replace function queue.purge_queue(name text) returns bigint
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    return (select p.purged from queue.purge_messages(queue.resolve(name), 0) p);
end $$;
