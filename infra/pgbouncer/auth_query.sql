-- The objects for PgBouncer's auth_query in its database: a role that can only ask a function for the SCRAM secret of a login
-- role. New roles and changed passwords then work through PgBouncer without a change of its files.
--
-- Run it as a superuser: no other role can read secrets. You can repeat it: `penstock up` does so at each start.
-- Then give the role its password:  alter role penstock_pooler password '…'
-- Without a superuser, as on RDS, omit this and list the roles in auth_file.
do $$
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'penstock_pooler') then
        create role penstock_pooler;
    end if;
end $$;
-- The role only calls the function. The limit suffices for several PgBouncers.
alter role penstock_pooler login noinherit nosuperuser nocreatedb nocreaterole noreplication connection limit 20;

create schema if not exists pgbouncer;
revoke all on schema pgbouncer from public;
grant usage on schema pgbouncer to penstock_pooler;

-- Not of superusers, of roles that replicate or bypass row security, and of expired roles, which cannot log in through the
-- pooler. No MD5 hash either, which is as good as a password.
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
