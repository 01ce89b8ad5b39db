-- queue.reclaim_space(): truncates one table whose indexes and long values still have files (256 KB or more) that
-- vacuum has emptied and cannot shorten, while the table itself has no page left. No transaction can see a row of such
-- a table, however old its snapshot is: vacuum has removed them for all. Returns tables, 0 or 1. Runs as its owner,
-- which owns the tables. Before that it empties the end of the file of queue.lease (move_cursors).
-- Locks: access exclusive on the table, never waited for, until commit: some milliseconds.
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
    order by random() limit 1;      -- so that a table that is always locked blocks no other
    if v_table is null then
        return 0;
    end if;
    begin
        execute format('lock table %s in access exclusive mode nowait', v_table);
    exception when lock_not_available then
        return 0;
    end;
    if pg_relation_size(v_table) > 0 then       -- rows were inserted meanwhile
        return 0;
    end if;
    execute format('truncate %s', v_table);
    return 1;
end $$;
