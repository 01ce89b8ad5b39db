-- queue.timeline(): the timeline of the server's write-ahead log, which the name of each of its files begins with; 0 where
-- the server does not tell.
create or replace function queue.timeline() returns int
language plpgsql as $$
begin
    return ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int;
exception when others then
    return 0;
end $$;
