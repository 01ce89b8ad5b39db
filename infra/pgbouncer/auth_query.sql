-- What PgBouncer's auth_query needs in the database that it serves: a role that can do one thing, which is to ask a
-- function for the SCRAM secret of a login role. With it a new role can log in through PgBouncer, and a changed password
-- holds, without a change of PgBouncer's own files.
--
-- Run it as a superuser, since no other role can read secrets. You can repeat it: `penstock up` does so at each start.
-- Then give the role its password:  alter role penstock_pooler password '…'
-- Where there is no superuser, as on RDS, leave this out and list the roles in auth_file.
do $$
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'penstock_pooler') then
        create role penstock_pooler;
    end if;
end $$;
-- It reads nothing but what the function shows. The limit is above what several PgBouncers need.
alter role penstock_pooler login noinherit nosuperuser nocreatedb nocreaterole noreplication connection limit 20;

create schema if not exists pgbouncer;
revoke all on schema pgbouncer from public;
grant usage on schema pgbouncer to penstock_pooler;

-- No secret of a superuser, of a role that replicates or that passes by row security, or that has expired: these do not
-- come in through the pooler. Nor an MD5 hash, which is as good as a password.
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
