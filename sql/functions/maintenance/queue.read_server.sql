-- queue.read_server: returns facts about the server for the console. A column is null if the caller's role has no right
-- to see the value.
--   `migrations` contains the numbers of the applied migrations.
--   `sees_sessions` says whether the role sees the state of other roles' sessions (pg_read_all_stats, a part of
--     pg_monitor).
--   `snapshot_seconds` is the age of the oldest visible transaction in this database with a snapshot or a transaction
--     id, and 0 if no such transaction exists.
--   `connections` is the number of clients of any database.
--   `wal_bytes` is the size of the write-ahead log on disk, if the role has the right to list the log (pg_monitor).
--   `slots` is the number of replication slots, and `kept_bytes` is the size of the log that the slowest slot retains.
-- Reads each session and each file of the write-ahead log.
create or replace function queue.read_server()
returns table (server_version text, migrations int[], sees_sessions boolean, snapshot_seconds double precision,
    connections bigint, max_connections int, wal_bytes bigint, slots bigint, kept_bytes bigint)
language plpgsql stable as $$
begin
    server_version := current_setting('server_version');
    migrations := array(select m.number from queue.migration m where m.number > 0 order by m.number);
    sees_sessions := pg_has_role(current_user, 'pg_read_all_stats', 'usage');
    select coalesce(extract(epoch from clock_timestamp() - min(a.xact_start)), 0) into snapshot_seconds
    from pg_stat_activity a
    where a.datname = current_database() and a.pid <> pg_backend_pid()
        and coalesce(a.backend_xid, a.backend_xmin) is not null;
    select count(*) into connections from pg_stat_activity a where a.datid is not null and a.usesysid is not null;
    max_connections := current_setting('max_connections')::int;
    if has_function_privilege('pg_ls_waldir()', 'execute') then
        select sum(w.size)::bigint into wal_bytes from pg_ls_waldir() w;
    end if;
    if not pg_is_in_recovery() then
        select count(*), max(pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn))::bigint into slots, kept_bytes
        from pg_replication_slots s;
    end if;
    return next;
end $$;
