-- queue.check_server: detects that the database has moved to another server. Returns whether ids jump. A move is a
-- failover, or a restore into another cluster. A move changes the cluster's system identifier or the log's timeline.
-- After a move, the last messages can be lost, and the new server would assign their ids again. Sequences therefore
-- jump at once, and jump_ids makes shards jump later. `p_after_restore` is true if the caller reports a restore into
-- the same cluster, which changes neither the identifier nor the timeline. If the server hides the timeline, the
-- timeline counts as 0. Aurora hides the timeline, and its storage loses no data. Locks the row in queue.server.
-- This file also contains timeline.
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
