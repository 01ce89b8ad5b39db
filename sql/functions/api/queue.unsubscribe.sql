-- queue.unsubscribe: removes a binding created by queue.subscribe. Returns false if the binding does not exist. Raises
-- QU001 if the queue does not exist. SQL interface.
create or replace function queue.unsubscribe(pattern text, name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
declare
    v_caller record;
begin
    select * into v_caller from queue.caller_account();
    delete from queue.binding b
    where b.account_id = v_caller.account_id and b.region = v_caller.region and b.pattern = unsubscribe.pattern
        and b.protocol = 'queue' and b.endpoint = queue.resolve(unsubscribe.name);
    if found then
        perform queue.audit_sql('penstock:Unsubscribe', pattern, jsonb_build_object('queue', name), 1, true);
    end if;
    return found;
end $$;
