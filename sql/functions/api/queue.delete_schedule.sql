-- queue.delete_schedule(name): deletes a schedule of the default account and group inside the caller's transaction.
-- Returns false when there is no such schedule. SQL interface.
do $$ begin     -- `create or replace` cannot rename the parameters that the previous release gave it
    if 'p_name' = any ((
        select proargnames from pg_proc where oid = to_regprocedure('queue.delete_schedule(text)'))::text[])
    then
        drop function queue.delete_schedule(text);
    end if;
end $$;
create or replace function queue.delete_schedule(name text) returns boolean
language sql volatile as $$
select d.dropped from queue.drop_schedule('000000000000', 'us-east-1', 'default', delete_schedule.name) d
$$;
