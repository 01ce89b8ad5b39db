-- The group roles and their rights. An installation grants them to its login roles:
--   penstock_api     the service, its functions and workers, and applications that use the SQL interface
--   penstock_reader  dashboards: reads everything but the secrets
--   penstock_metrics the metrics job: reads the same, writes its results
-- Roles belong to the whole cluster. When the migrating role may not make them, only the owner of the schema can use
-- it, and this file changes nothing.
do $$
declare
    v_role text;
begin
    foreach v_role in array array['penstock_api', 'penstock_reader', 'penstock_metrics'] loop
        if not exists (select from pg_roles where rolname = v_role)
            and (select rolsuper or rolcreaterole from pg_roles where rolname = current_user)
        then
            begin
                execute format('create role %I nologin', v_role);
            exception when duplicate_object or unique_violation then
                null;       -- another database of the cluster is migrated at the same moment
            end;
        end if;
        if exists (select from pg_roles where rolname = v_role) then
            execute format('grant usage on schema queue to %I', v_role);
            execute format('grant select on all tables in schema queue to %I', v_role);
        end if;
    end loop;
    if exists (select from pg_roles where rolname = 'penstock_reader') then
        revoke all on queue.secret, queue.access_key, queue.bearer_key, queue.signing_key from penstock_reader;
    end if;
    if exists (select from pg_roles where rolname = 'penstock_metrics') then
        revoke all on queue.secret, queue.access_key, queue.bearer_key, queue.signing_key from penstock_metrics;
        grant insert, update, delete on queue.metrics_window, queue.metrics_latency, queue.metrics_forecast,
            queue.metrics_run to penstock_metrics;
        grant usage on sequence queue.metrics_run_run_id_seq to penstock_metrics;
    end if;
    if exists (select from pg_roles where rolname = 'penstock_api') then
        grant insert, update, delete on all tables in schema queue to penstock_api;
        grant usage on all sequences in schema queue to penstock_api;
        -- The SQL interface: the functions that applications may call (sql/functions/api, docs/sql.md).
        grant execute on function
            queue.ack, queue.archive, queue.change_visibility, queue.create, queue.create_fifo, queue.create_schedule,
            queue.delete, queue.delete_queue, queue.delete_schedule, queue.list_queues, queue.metrics,
            queue.next_fires, queue.parse_schedule, queue.pop, queue.preview_schedule, queue.publish_event,
            queue.purge_queue, queue.receive, queue.receive_fifo, queue.send, queue.send_batch, queue.send_fifo,
            queue.send_topic, queue.subscribe, queue.unsubscribe
            to penstock_api;
        -- The internal functions: the service calls them under the same role.
        grant execute on all functions in schema queue to penstock_api;
    end if;
end $$;
revoke execute on all functions in schema queue from public;
