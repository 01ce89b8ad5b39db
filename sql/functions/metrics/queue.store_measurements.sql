-- queue.store_measurements: measures the next p_limit queues. Returns the number of measured queues. All processes
-- share a round through all queues. The next round begins p_pause_ms after the previous round's end, and begins with
-- measure_installation. Returns no row during the pause. Locks the worker's row, so only one process measures at a
-- time. Costs as much as count_messages for each queue.
-- This file also contains measure_installation.
create or replace function queue.store_measurements(p_limit int, p_pause_ms int) returns table (queues int)
language plpgsql as $$
#variable_conflict use_column
declare
    v_ids int[];
begin
    v_ids := array(select n.queue_id from queue.next_queues('measure', p_limit, p_pause_ms) n);
    if v_ids = '{}' then
        return;
    end if;
    if v_ids[1] = 0 then
        perform queue.measure_installation();
    end if;
    perform queue.store_gauges(array(      -- The array omits queues that store_minutes has just counted.
        select u from unnest(v_ids) u
        where u <> 0 and not exists (
            select from queue.measurement m
            where m.queue_id = u and m.measured_at > clock_timestamp() - p_pause_ms / 2 * interval '1 millisecond')));
    queues := cardinality(array_remove(v_ids, 0));
    return next;
end $$;

-- queue.measure_installation: stores measurements that do not belong to a queue in queue.reading, and deletes
-- measurements of deleted queues. The measurements are:
--   `dead_rows` and `live_rows` are numbers for each table of this schema, with partitions under their parent's name.
--   `oldest_xmin` is the number of transactions since the oldest snapshot, prepared transaction or replication slot
--     that restrains vacuum in this database. The number omits snapshots if sessions are hidden.
--   `oldest_transaction` is the number of seconds since the oldest transaction of this database began. The value is
--     missing if sessions are hidden.
--   `schedules_overdue` is the number of seconds since the most overdue schedule was due.
--   `deliveries_pending` is the number of waiting deliveries.
--   `deliveries_overdue` is the number of seconds since the first waiting delivery was due.
--   `endpoints_paused` is the number of endpoints that fail, so their deliveries wait.
--   `endpoints_failing` is the number of other endpoints that have failed for two minutes (list_failed_endpoints).
--   `metrics_job_succeeded` is the time at which a run of the metrics job last succeeded, in seconds since 1970. The
--     value is missing before the first success.
--   `metrics_job_failures` is the number of the job's runs that have failed since the last success.
--   `metrics_job_failed` is 1 if the job's last run failed, and otherwise 0.
--   `metrics_job_seconds` is the duration of the job's last run.
-- Without pg_monitor, a role does not see when a transaction of another role began. Sessions count as hidden if other
-- roles have sessions that this role cannot see. Costs 3 ms and reads each pending delivery.
create or replace function queue.measure_installation() returns void
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_hidden boolean := not pg_has_role(current_user, 'pg_read_all_stats', 'usage') and exists (
        select from pg_stat_activity a
        where a.datname = current_database() and not pg_has_role(current_user, a.usesysid, 'usage'));
begin
    delete from queue.measurement m where not exists (select from queue.queues q where q.queue_id = m.queue_id);
    delete from queue.outcome_count o where not exists (select from queue.queues q where q.queue_id = o.queue_id);
    with row_counts as (
        select coalesce(p.relname, s.relname)::text as label, sum(s.n_dead_tup) as dead, sum(s.n_live_tup) as live
        from pg_stat_user_tables s
        left join pg_inherits i on i.inhrelid = s.relid
        left join pg_class p on p.oid = i.inhparent
        where s.schemaname = 'queue' group by 1),
    held as (
        -- Snapshots of other databases do not hold back vacuum in this database. A standby's snapshots
        -- (hot_standby_feedback) do not belong to a database, but hold back vacuum in this database. An idle
        -- transaction that has written rows has a transaction id but no snapshot.
        select greatest(age(a.backend_xid), age(a.backend_xmin)) as transactions from pg_stat_activity a
            where coalesce(a.datname, current_database()) = current_database() and not v_hidden
        union all select age(s.xmin) from pg_replication_slots s
        union all select age(p.transaction) from pg_prepared_xacts p where p.database = current_database()),
    found as (
        select 'dead_rows' as name, r.label, r.dead::double precision as value from row_counts r
        union all select 'live_rows', r.label, r.live from row_counts r
        union all select 'oldest_xmin', '', coalesce(max(h.transactions), 0) from held h
            having not v_hidden or max(h.transactions) is not null
        union all select 'oldest_transaction', '',
            coalesce(greatest(0, extract(epoch from v_now - min(a.xact_start))), 0)
            from pg_stat_activity a where a.datname = current_database() and a.pid <> pg_backend_pid()
            having not v_hidden
        union all select 'schedules_overdue', '', coalesce(greatest(0, extract(epoch from v_now - (
            select s.due_at from queue.schedule s
            where s.status = 'active' and s.due_at is not null order by s.due_at limit 1))), 0)
        union all select 'deliveries_overdue', '', coalesce(greatest(0, extract(epoch from v_now - (
            select min(d.due_at) from unnest(queue.delivery_carriers()) k(carrier)
            cross join lateral (
                select d.due_at from queue.outgoing_delivery d
                where d.state = 'pending' and not d.waiting and d.carrier = k.carrier order by d.due_at limit 1) d))),
                    0)
        union all select 'endpoints_paused', '', count(*) from queue.delivery_endpoint l
            where l.paused_until is not null and not l.stopped
        union all select 'endpoints_failing', '', count(f.failing_since)
            from (select distinct l.account_id from queue.delivery_endpoint l
                  where l.paused_until is null and l.failing_since < v_now - interval '2 minutes') a
            cross join lateral queue.list_failed_endpoints(a.account_id, 10000, 120) f
        union all select 'metrics_job_succeeded', '', extract(epoch from r.finished_at)
            from (select x.run_id, x.finished_at from queue.metrics_run x
                  where x.finished_at is not null and x.error is null order by x.run_id desc limit 1) r
        union all select 'metrics_job_failures', '', count(*) from queue.metrics_run r
            where r.error is not null and r.run_id > coalesce((
                select max(x.run_id) from queue.metrics_run x where x.finished_at is not null and x.error is null), 0)
        union all select l.name, '', l.value
            from (select x.error, x.finished_at - x.started_at as lasted from queue.metrics_run x
                  where x.finished_at is not null order by x.run_id desc limit 1) r
            cross join lateral (values ('metrics_job_failed', (r.error is not null)::int::double precision),
                                       ('metrics_job_seconds', extract(epoch from r.lasted))) l (name, value)
        union all select 'deliveries_pending', '', count(*) from queue.outgoing_delivery d where d.state = 'pending'),
    unknown as (
        delete from queue.reading r
        where r.name in ('oldest_xmin', 'oldest_transaction')
            and not exists (select from found f where f.name = r.name))
    insert into queue.reading (name, label, value) select f.name, f.label, f.value from found f
    on conflict (name, label) do update set value = excluded.value;
    if exists (select from queue.event_bus) or exists (
        select from queue.reading r where r.name = 'bus_events')
    then
        perform queue.measure_event_buses();
    end if;
end $$;
