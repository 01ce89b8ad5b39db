-- queue.is_service_role: returns whether the session's login role belongs to the service. A role of the service is a
-- superuser, a member of penstock_api, or a member of the role that owns the schema.
create or replace function queue.is_service_role() returns boolean
language plpgsql stable as $$
begin
    if queue.has_role(session_user, to_regrole('penstock_api')) then        -- The usual case needs no query.
        return true;
    end if;
    return queue.has_role(session_user, (select n.nspowner from pg_namespace n where n.nspname = 'queue'));
end $$;
