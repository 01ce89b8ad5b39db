-- queue.reclaim_space(): truncates one table that has no page left itself, but whose indexes and long values still have
-- files (256 KB or more) that vacuum has emptied and cannot shorten. No transaction can see a row of such a table, even
-- with an old snapshot, because vacuum has removed the rows for all. Returns the number of tables, 0 or 1. Runs as its
-- owner, which owns the tables. First the function empties the end of the file of queue.lease (move_cursors). Locks:
-- access exclusive on the table, without waiting, until commit: some milliseconds.
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
    order by random() limit 1;      -- so that a table that is always locked delays no other
    if v_table is null then
        return 0;
    end if;
    begin
        execute format('lock table %s in access exclusive mode nowait', v_table);
    exception when lock_not_available then
        return 0;
    end;
    if pg_relation_size(v_table) > 0 then       -- rows were inserted at the same time
        return 0;
    end if;
    execute format('truncate %s', v_table);
    return 1;
end $$;

-- queue.move_cursors(): rewrites cursors of idle shards, up to 200, the last in the file of queue.lease first, if that
-- file has 64 pages or more and on average less than one row for each page. PostgreSQL can shorten a file only behind
-- its last row, and the newest lease of an idle queue stays there forever. PostgreSQL fills the free pages at the front
-- first, as vacuum has noted. The remaining dead versions also start autovacuum, which would not start otherwise in an
-- idle database.
-- Returns the number of cursors. Locks: advisory, readers of the shards, without waiting.
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
