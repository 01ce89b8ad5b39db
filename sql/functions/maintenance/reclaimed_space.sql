-- The space of deleted queues and of old rows.

-- queue.reclaim_space: truncates one empty table whose indexes and long values still have files of 256 KB or more.
-- Returns the number of tables, 0 or 1. Vacuum has emptied the files of this table but cannot shorten the files. Even
-- an old snapshot sees no row of the truncated table, because vacuum has removed the rows for all transactions. First
-- empties the end of queue.lease's file (move_cursors). Takes an access exclusive lock on the table without waiting,
-- for some milliseconds until the commit. Runs with the rights of its owner, which owns the tables.
create or replace function queue.reclaim_space() returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    v_table regclass;
begin
    perform queue.move_cursors();
    select c.oid into v_table
    from pg_class c left join pg_class l on l.oid = c.reltoastrelid
    where c.relnamespace = 'queue'::regnamespace and c.relkind = 'r' and not c.relispartition and c.relpages = 0
        and 32 <= coalesce(l.relpages, 0) + (
            select coalesce(sum(f.relpages), 0) from pg_index i join pg_class f on f.oid = i.indexrelid
            where i.indrelid = c.oid)
        and not exists (select from pg_constraint k where k.contype = 'f' and k.confrelid = c.oid)
    order by random() limit 1;      -- With a random order, a table that is always locked does not delay other tables.
    if v_table is null then
        return 0;
    end if;
    begin
        execute format('lock table %s in access exclusive mode nowait', v_table);
    exception when lock_not_available then
        return 0;
    end;
    if pg_relation_size(v_table) > 0 then       -- Another transaction has inserted rows.
        return 0;
    end if;
    execute format('truncate %s', v_table);
    return 1;
end $$;

-- queue.move_cursors: rewrites up to 200 cursors of idle shards, starting with the last cursors in the file of
-- queue.lease. Returns the number of rewritten cursors. Acts only if the file has 64 pages or more, and fewer rows than
-- pages. PostgreSQL can shorten a file only behind its last row, and the newest lease of an idle queue stays forever. A
-- rewritten row goes to a free page at the front. The dead row versions also trigger autovacuum, which otherwise would
-- not run in an idle database. Locks readers of the shards without waiting.
create or replace function queue.move_cursors() returns int
language plpgsql as $$
declare
    v_cursor queue.lease;
    v_moved int := 0;
begin
    if not exists (
        select from pg_class c
        where c.oid = 'queue.lease'::regclass and c.relpages >= 64 and c.reltuples >= 0 and c.reltuples < c.relpages)
    then
        return 0;
    end if;
    for v_cursor in
        select * from queue.lease x where x.ids = '{}' and x.low = x.pos order by x.ctid desc limit 200
    loop
        continue when not pg_try_advisory_xact_lock(queue.lock_key(1, v_cursor.queue_id, v_cursor.shard));
        delete from queue.lease x
        where x.queue_id = v_cursor.queue_id and x.shard = v_cursor.shard and x.pos = v_cursor.pos
            and x.ids = '{}' and x.low = x.pos and not exists (
                select from queue.lease n
                where n.queue_id = x.queue_id and n.shard = x.shard and n.pos > x.pos)
        returning x.* into v_cursor;
        if found then
            insert into queue.lease select v_cursor.*;
            v_moved := v_moved + 1;
        end if;
    end loop;
    return v_moved;
end $$;

-- queue.finish_deletions: records up to p_limit deletions that can no longer be undone (delete_with_undo), and drops
-- their messages. Returns the number of messages. Skips locked rows. Uses the index pending_deletion_deleted_at.
create or replace function queue.finish_deletions(p_limit int) returns bigint
language plpgsql as $$
declare
    v_row record;
    v_finished bigint := 0;
begin
    for v_row in
        delete from queue.pending_deletion d where d.ctid = any (array(
            select e.ctid from queue.pending_deletion e
            where e.deleted_at <= (select clock_timestamp()) - interval '30 seconds'
            order by e.deleted_at limit p_limit for update skip locked))
        returning d.*
    loop
        perform queue.record_deletion(v_row.queue_id, v_row.public_id, v_row.message, v_row.deleted_at);
        v_finished := v_finished + 1;
    end loop;
    return v_finished;
end $$;

-- queue.history_names: returns the histories, which are the tables that have a partition for each day.
create or replace function queue.history_names() returns text[]
language sql immutable parallel safe
return array['history', 'receive_trace', 'outgoing_delivery_history', 'outgoing_delivery_attempt'];
