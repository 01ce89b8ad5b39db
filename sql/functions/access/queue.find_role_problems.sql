-- queue.find_role_problems: returns a row for each problem of the database roles' rights. The service's roles are the
-- caller, the schema's owner, p_service_roles and the members of these roles. Skips superusers, because a superuser has
-- every right. Skips roles that do not exist, which penstock/postgres/roles.py finds.
-- This file also contains application_functions.
create or replace function queue.find_role_problems(p_service_roles text[]) returns table (problem text)
language sql stable as $$
with service as (
    select r.oid from pg_roles r
    where r.rolname in (session_user, current_user) or r.rolname = any (p_service_roles)
        or r.oid = (select n.nspowner from pg_namespace n where n.nspname = 'queue')),
secret as (
    select c.oid, c.relname from pg_class c
    where c.relnamespace = 'queue'::regnamespace
        and c.relname in ('secret', 'access_key', 'bearer_key', 'signing_key', 'console_session', 'alert_target',
            'connection', 'event_webhook')),
privileged as (
    select distinct r.oid, s.relname from pg_roles r cross join secret s
    where has_table_privilege(r.oid, s.oid, 'select, insert, update, delete')),
application as (
    select n.name from (
        select r.role_name as name from queue.role_account r
        union
        select o.rolname from pg_roles o
        where o.rolcanlogin and not o.rolsuper and queue.has_role(o.rolname, to_regrole('penstock_app'))) n
    left join pg_roles o on o.rolname = n.name
    where not exists (select from service s where o.oid is not null and queue.has_role(o.rolname, s.oid)))
-- the roles of the service and of readers
select format('penstock_api may not call %s functions', count(*))
from pg_roles r join pg_proc p on not has_function_privilege(r.oid, p.oid, 'execute')
where r.rolname = 'penstock_api' and p.pronamespace = 'queue'::regnamespace
having count(*) > 0
union all
select format('penstock_reader and penstock_metrics may not read %s tables', count(*))
from pg_roles r join pg_class c on not has_table_privilege(r.oid, c.oid, 'select')
where r.rolname in ('penstock_reader', 'penstock_metrics') and c.relnamespace = 'queue'::regnamespace
    and c.relkind in ('r', 'p', 'v') and c.oid not in (select s.oid from secret s)
    -- Readers need no rights on partitions, because they use the partitions only through the partitioned tables.
    and not (c.relname ~ '_[0-9]{8}$' and left(c.relname, -9) = any (queue.history_names()))
    and c.relname !~ '^event_[0-9]+_[0-9]{8}$'
having count(*) > 0
union all
-- the role of applications
select format('penstock_app %s call %s', case when may.must then 'may not' else 'may' end,
    min(p.oid::regprocedure::text))
    || case when count(*) > 1 then format(' and %s other functions', count(*) - 1) else '' end
from pg_roles r cross join pg_proc p
cross join lateral (select p.oid in (select f from queue.application_functions() f)) may(must)
where r.rolname = 'penstock_app' and p.pronamespace = 'queue'::regnamespace and to_regrole('penstock_owner') is not null
    and has_function_privilege(r.oid, p.oid, 'execute') <> may.must
group by may.must
union all
select format('penstock_app has rights on queue.%s', c.relname)
from pg_roles r join pg_class c on c.relkind in ('r', 'p', 'v')
    and (has_table_privilege(r.oid, c.oid, 'select, insert, update, delete, truncate, references, trigger')
        or has_any_column_privilege(r.oid, c.oid, 'select, insert, update, references'))
where r.rolname = 'penstock_app' and c.relnamespace = 'queue'::regnamespace
union all
select format('%s of the SQL interface is not owned by penstock_owner, or not SECURITY DEFINER with its own '
    'search_path: `penstock migrate`', f)
from queue.application_functions() f join pg_proc p on p.oid = f
where to_regrole('penstock_owner') is not null and (p.proowner <> to_regrole('penstock_owner') or not p.prosecdef
    or 'search_path=pg_catalog, queue, pg_temp' <> all (coalesce(p.proconfig, '{}')))
union all
-- the owner of the SQL interface
select format('penstock_owner %s', w.wrong)
from pg_roles r
cross join lateral (
    select 'is a superuser: alter role penstock_owner nosuperuser' where r.rolsuper
    union all
    select 'may log in: alter role penstock_owner nologin' where r.rolcanlogin
    union all
    select 'may create in the schema: revoke create on schema queue from penstock_owner'
    where has_schema_privilege(r.oid, 'queue', 'create') and not r.rolsuper
    union all
    select format('may use queue.%s', p.relname) from privileged p where p.oid = r.oid and not r.rolsuper) w(wrong)
where r.rolname = 'penstock_owner'
union all
-- login roles of applications
select format('the application''s role %s: %s', a.name, w.wrong)
from application a
cross join lateral (
    select queue.role_problem(a.name)
    union all
    select format('it stands for no account: penstock roles set %s', a.name)
    -- Roles and their memberships belong to all databases of the server. If another database also has Penstock, a role
    -- without an account here can be an application of that database.
    where not exists (
        select from pg_shdepend d
        where d.refclassid = 'pg_authid'::regclass and d.refobjid = to_regrole('penstock_app')
            and d.dbid not in (0, (select b.oid from pg_database b where b.datname = current_database())))
    and not exists (
        select from queue.role_account e join pg_roles g on g.rolname = e.role_name
        where e.role_name = a.name or pg_has_role(a.name, g.oid, 'USAGE'))) w(wrong)
where w.wrong is not null
union all
-- other login roles
select format('the role %s may use %s, and is not the service''s', o.rolname,
    (select string_agg(distinct 'queue.' || p.relname, ', ') from privileged p where queue.has_role(o.rolname, p.oid)))
from pg_roles o
where o.rolcanlogin and not o.rolsuper and o.rolname <> 'penstock_owner'
    and o.rolname not in (select a.name from application a)
    and not exists (select from service s where queue.has_role(o.rolname, s.oid))
    and exists (select from privileged p where queue.has_role(o.rolname, p.oid))
$$;

-- queue.application_functions: returns the functions in api/, which applications may call (docs/reference/sql.md).
create or replace function queue.application_functions() returns setof regprocedure
language sql stable as $$
select p.oid::regprocedure from pg_proc p
where p.pronamespace = 'queue'::regnamespace and p.proname = any (array[
    'ack', 'archive', 'change_visibility', 'create', 'create_fifo', 'create_schedule', 'delete', 'delete_queue',
    'delete_schedule', 'fail', 'list_queues', 'metrics', 'next_fires', 'parse_schedule', 'pop', 'preview_schedule',
    'publish_event', 'purge_queue', 'put_events', 'receive', 'receive_fifo', 'send', 'send_batch', 'send_fifo',
    'send_topic', 'subscribe', 'unsubscribe'])
$$;
