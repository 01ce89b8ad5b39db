-- Creates the objects for PgBouncer's auth_query, which are a role, and a function that returns the SCRAM secret of a
-- login role. With these objects, new roles and changed passwords work through PgBouncer without a change of
-- PgBouncer's files.
--
-- Run this file as a superuser, because no other role can read secrets. You can run this file repeatedly, as `penstock
-- up` does at each start. Then set the role's password:  alter role penstock_pooler password '…'
--
-- Without a superuser, as on RDS, skip this file and list the roles in auth_file.
do $$
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'penstock_pooler') then
        create role penstock_pooler;
    end if;
end $$;
-- The role can only call the function. The limit of connections is high enough for several PgBouncers.
alter role penstock_pooler login noinherit nosuperuser nocreatedb nocreaterole noreplication connection limit 20;

create schema if not exists pgbouncer;
revoke all on schema pgbouncer from public;
grant usage on schema pgbouncer to penstock_pooler;

-- The function returns no secret of superusers, of roles that replicate or bypass row security, or of expired roles.
-- The roles without a secret cannot log in through the pooler. The function returns no MD5 hash, because a client can
-- log in with the hash.
create or replace function pgbouncer.get_auth(p_user text) returns table (username text, password text)
language sql stable security definer set search_path = pg_catalog as $$
select a.rolname::text, a.rolpassword
from pg_authid a
where a.rolname = p_user and a.rolcanlogin and not (a.rolsuper or a.rolreplication or a.rolbypassrls)
    and a.rolname <> 'penstock_pooler' and (a.rolvaliduntil is null or a.rolvaliduntil > now())
    and a.rolpassword like 'SCRAM-SHA-256$%'
$$;
revoke all on function pgbouncer.get_auth(text) from public;
grant execute on function pgbouncer.get_auth(text) to penstock_pooler;
