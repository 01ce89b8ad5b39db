-- This file grants rights to the group roles. Skips roles that do not exist. `penstock migrate` creates the roles if it
-- has the right to do so (penstock/postgres/roles.py).
-- An installation grants these roles to its login roles:
--   `penstock_api` is for the service, its functions and workers.
--   `penstock_app` is for applications, which can call only the functions of the SQL interface.
--   `penstock_reader` is for dashboards, which can read everything except secrets.
--   `penstock_metrics` is for the metrics job, which can read what dashboards read, and write its results.
-- An installation grants this role to no other role:
--   `penstock_owner` owns the functions of the SQL interface, which run with this role's rights. The role can read and
--     write these functions' tables, except secrets.
do $$
declare
    v_secrets constant text :=
        'queue.secret, queue.access_key, queue.bearer_key, queue.signing_key, queue.console_session, '
        'queue.alert_target, queue.connection, queue.event_webhook';
    v_owner constant regrole := to_regrole('penstock_owner');
    v_role text;
    v_object text;
begin
    -- The comment of a function shows whether applications may call it, for example in psql.
    for v_object in
        select f::text from queue.application_functions() f join pg_proc p on p.oid = f
        where pg_has_role(current_user, p.proowner, 'USAGE') and obj_description(p.oid, 'pg_proc') is null
    loop
        execute format('comment on function %s is %L', v_object,
            'Public: applications may call this function (docs/reference/sql.md).');
    end loop;
    foreach v_role in array array['penstock_api', 'penstock_owner', 'penstock_reader', 'penstock_metrics'] loop
        if to_regrole(v_role) is not null then
            execute format('grant usage on schema queue to %I', v_role);
            execute format('grant select on all tables in schema queue to %I', v_role);
        end if;
    end loop;
    foreach v_role in array array['penstock_api', 'penstock_owner'] loop
        if to_regrole(v_role) is not null then
            execute format('grant insert, update, delete on all tables in schema queue to %I', v_role);
            execute format('grant usage on all sequences in schema queue to %I', v_role);
            execute format('grant execute on all functions in schema queue to %I', v_role);
        end if;
    end loop;
    foreach v_role in array array['penstock_owner', 'penstock_reader', 'penstock_metrics'] loop
        if to_regrole(v_role) is not null then
            execute format('revoke all on %s from %I', v_secrets, v_role);
        end if;
    end loop;
    if to_regrole('penstock_api') is not null then
        grant truncate on queue.write_probe to penstock_api;
    end if;
    if to_regrole('penstock_metrics') is not null then
        grant insert, update, delete on queue.metrics_window, queue.metrics_latency, queue.metrics_forecast,
            queue.metrics_run, queue.metrics_range, queue.metrics_open to penstock_metrics;
        grant usage on sequence queue.metrics_run_run_id_seq to penstock_metrics;
    end if;
    if v_owner is null then
        return;
    end if;
    revoke all on queue.account_user, queue.migration from penstock_owner;
    revoke insert, update, delete on queue.role_account from penstock_owner;

    -- Only a member of the new owner can make it the owner of a function, and later replace the function. The new owner
    -- needs the right to create objects in the schema at that moment.
    if not pg_has_role(current_user, v_owner, 'USAGE') or not pg_has_role(current_user, v_owner,
        case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end)
    then
        return;
    end if;
    if exists (
        select from queue.application_functions() f join pg_proc p on p.oid = f where p.proowner <> v_owner)
    then
        grant create on schema queue to penstock_owner;
        for v_object in
            select f::text from queue.application_functions() f join pg_proc p on p.oid = f where p.proowner <> v_owner
        loop
            execute format('alter function %s owner to penstock_owner', v_object);
        end loop;
        revoke create on schema queue from penstock_owner;
    end if;
    if to_regrole('penstock_app') is null then
        return;
    end if;
    for v_object in     -- The interface no longer contains these functions.
        select p.oid::regprocedure::text from pg_proc p, aclexplode(p.proacl) a
        where p.pronamespace = 'queue'::regnamespace and a.grantee = to_regrole('penstock_app')
            and p.oid not in (select f from queue.application_functions() f)
    loop
        execute format('revoke execute on function %s from penstock_app', v_object);
    end loop;
    grant usage on schema queue to penstock_app;
    for v_object in select f::text from queue.application_functions() f loop
        execute format('grant execute on function %s to penstock_app', v_object);
    end loop;
end $$;
revoke execute on all functions in schema queue from public;
