-- queue.unsubscribe(pattern, name): removes the binding that queue.subscribe made. Returns false when there is none.
-- Raises QU001 (undefined queue). SQL interface.
do $$ begin     -- `create or replace` cannot rename the parameters that the previous release gave it
    if 'p_pattern' = any ((
        select proargnames from pg_proc where oid = to_regprocedure('queue.unsubscribe(text, text)'))::text[])
    then
        drop function queue.unsubscribe(text, text);
    end if;
end $$;
create or replace function queue.unsubscribe(pattern text, name text) returns boolean
language plpgsql as $$
begin
    delete from queue.binding b
    where b.account_id = '000000000000' and b.region = 'us-east-1' and b.pattern = unsubscribe.pattern
        and b.protocol = 'queue' and b.endpoint = queue.resolve(unsubscribe.name);
    return found;
end $$;
