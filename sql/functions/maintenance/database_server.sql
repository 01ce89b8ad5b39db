-- The database server: its identity, its settings, its disk, and the jump of ids after a restore.

-- queue.check_server: detects that the database has moved to another server. Returns whether ids jump. A move is a
-- failover, or a restore into another cluster. A move changes the cluster's system identifier or the log's timeline.
-- After a move, the last messages can be lost, and the new server would assign their ids again. Sequences therefore
-- jump at once, and jump_ids makes shards jump later. `p_after_restore` is true if the caller reports a restore into
-- the same cluster, which changes neither the identifier nor the timeline. If the server hides the timeline, the
-- timeline counts as 0. Aurora hides the timeline, and its storage loses no data. Locks the row in queue.server.
create or replace function queue.check_server(p_after_restore boolean default false) returns boolean
language plpgsql as $$
declare
    v_identifier bigint := (select c.system_identifier from pg_control_system() c);
    v_timeline int := queue.timeline();
    v_server queue.server;
    v_sequence record;
begin
    insert into queue.server (system_identifier, timeline) values (v_identifier, v_timeline) on conflict do nothing;
    select * into v_server from queue.server s;
    if v_server.system_identifier = v_identifier and v_server.timeline = v_timeline and not p_after_restore then
        return false;
    end if;
    select * into v_server from queue.server s for update;
    if v_server.system_identifier = v_identifier and v_server.timeline = v_timeline and not p_after_restore then
        return false;       -- Another process has already noticed the move.
    end if;
    for v_sequence in
        select format('%I.%I', s.schemaname, s.sequencename)::regclass as name, s.max_value > 4294967296 as is_long
        from pg_sequences s where s.schemaname = 'queue'
    loop
        -- A sequence of bigint numbers jumps by 2^32, and a sequence of smaller numbers by 65,536.
        perform setval(v_sequence.name,
            nextval(v_sequence.name) + case when v_sequence.is_long then 4294967296 else 65536 end);
    end loop;
    -- The transaction ids of another cluster would never end a gap, or would end it too early.
    update queue.event_gap g set last_xid = null where g.last_xid is not null;
    update queue.server s
    set system_identifier = v_identifier, timeline = v_timeline, noticed_at = clock_timestamp(), jump_after = 0;
    return true;
end $$;

-- queue.timeline: returns the timeline of the server's write-ahead log, or 0 if the server hides the timeline. The name
-- of each log file begins with the timeline.
create or replace function queue.timeline() returns int
language plpgsql as $$
begin
    return ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int;
exception when others then
    return 0;
end $$;

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

-- queue.jump_ids: lets the shards of the next p_limit queues jump over 2^32 ids (check_server). Returns the number of
-- queues, or 0 if no queue remains. Also retries shards that had a writer at the time of an earlier call. Locks the row
-- in queue.server, and writers of the shards without waiting.
create or replace function queue.jump_ids(p_limit int) returns int
language plpgsql as $$
declare
    v_server queue.server;
    v_shard record;
    v_queues int := 0;
begin
    for v_shard in select j.queue_id, j.shard from queue.late_id_jump j limit p_limit loop
        if queue.jump_shard(v_shard.queue_id, v_shard.shard) then
            delete from queue.late_id_jump j where j.queue_id = v_shard.queue_id and j.shard = v_shard.shard;
        end if;
    end loop;
    select * into v_server from queue.server s where s.jump_after is not null for update skip locked;
    if v_server.jump_after is null then
        return 0;
    end if;
    for v_shard in
        select q.queue_id, s.shard
        from (select q.queue_id, q.shards from queue.queues q
              where q.queue_id > v_server.jump_after and not q.fifo order by q.queue_id limit p_limit) q
        cross join lateral generate_series(0, q.shards - 1) s(shard) order by q.queue_id, s.shard
    loop
        v_queues := v_queues + (v_shard.shard = 0)::int;
        v_server.jump_after := v_shard.queue_id;
        if not queue.jump_shard(v_shard.queue_id, v_shard.shard) then
            insert into queue.late_id_jump (queue_id, shard) values (v_shard.queue_id, v_shard.shard)
            on conflict do nothing;
        end if;
    end loop;
    update queue.server s set jump_after = case when v_queues > 0 then v_server.jump_after end;
    return v_queues;
end $$;

-- queue.jump_shard: makes a shard's ids continue 2^32 above the last id. Returns false if the shard has a writer now.
-- At a million messages per second, 2^32 ids last for more than an hour. Ids in SQL and REST (queue.public_id) stay
-- below 2^53 for 8,000 jumps. Many languages cannot represent greater JSON integers. Locks the writer of the shard
-- until the end of the transaction.
create or replace function queue.jump_shard(p_queue_id int, p_shard int) returns boolean
language plpgsql as $$
declare
    v_last bigint;
begin
    if not pg_try_advisory_xact_lock(queue.lock_key(0, p_queue_id, p_shard)) then
        return false;
    end if;
    select greatest(c.pos,
        (select l.id from queue.log l
         where l.queue_id = p_queue_id and l.shard = p_shard and l.id > c.pos order by l.id desc limit 1),
        (select max(h.id) from queue.hole h where h.queue_id = p_queue_id and h.shard = p_shard)) into v_last
    from (select x.pos from queue.lease x
          where x.queue_id = p_queue_id and x.shard = p_shard order by x.pos desc limit 1) c;
    if v_last is not null then      -- A null means that another transaction has deleted the queue.
        insert into queue.hole (queue_id, shard, id) values (p_queue_id, p_shard, v_last + 4294967296);
        insert into queue.id_jump (queue_id, shard, first_id, last_id)
        values (p_queue_id, p_shard, v_last + 1, v_last + 4294967296);
    end if;
    return true;
end $$;

-- queue.probe_write: returns why the database refuses changes: `disk full`, `read-only`, or '' if it accepts changes.
-- Stores 256 KiB in new blocks of queue.write_probe and rolls them back, because an insert into free space of a table
-- succeeds on a full disk. A dump of the database locks the table, and the probe then leaves dead rows, which
-- autovacuum removes. Raises other errors. Takes 2 ms.
create or replace function queue.probe_write() returns table (refusal text)
language plpgsql as $$
begin
    begin
        lock table queue.write_probe in access exclusive mode nowait;
        truncate queue.write_probe;
    exception when lock_not_available then
        null;       -- New rows still need new blocks, unless autovacuum has just removed dead rows.
    end;
    insert into queue.write_probe (filler) select repeat('x', 8000) from generate_series(1, 32);
    raise raise_exception;
exception
    when raise_exception then
        refusal := '';
        return next;
    when disk_full then
        refusal := 'disk full';
        return next;
    when read_only_sql_transaction then
        refusal := 'read-only';
        return next;
end $$;
