-- queue.archive(name, id): deletes a message and keeps a copy in the archive. Returns false when there is no such
-- message. Raises QU001. SQL interface.
do $$ begin     -- `create or replace` cannot rename the parameters that the previous release gave it
    if 'p_name' = any ((
        select proargnames from pg_proc where oid = to_regprocedure('queue.archive(text, bigint)'))::text[])
    then
        drop function queue.archive(text, bigint);
    end if;
end $$;
create or replace function queue.archive(name text, id bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
begin
    return exists (select from queue.delete_by_id(queue.resolve(name), array[archive.id], true));
end $$;
