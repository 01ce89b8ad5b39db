-- queue.move_cursors(): rewrites cursors of idle shards, up to 200, the last in the file of queue.lease first, when
-- that file has 64 pages or more and less than one row a page. A file can be shortened only behind its last row, and
-- the newest lease of an idle queue stays there for good; vacuum has marked the pages at the front as the first to be
-- filled. The dead versions that are left behind also make autovacuum run: in an idle database nothing else would.
-- Returns how many. Locks: advisory, readers of the shards, never waited for.
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
