-- queue.refresh_statistics: analyzes the table of this schema with the oldest statistics, if autovacuum is late.
-- Returns the number of tables, 0 or 1. Autovacuum acts when a tenth of a table has changed, and this function acts
-- when three tenths have changed. Skips locked tables and tables that were analyzed within a minute. Analyzes one table
-- in a call, with a sample of fixed size, so the call's duration is limited. Runs with the rights of its owner, which
-- owns the tables. Takes a share update exclusive lock, which blocks only vacuum.
create or replace function queue.refresh_statistics() returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
declare
    v_table regclass;
begin
    select s.relid into v_table
    from pg_stat_user_tables s join pg_class c on c.oid = s.relid
    where s.schemaname = 'queue' and s.n_mod_since_analyze > 1000 + 0.3 * greatest(c.reltuples, 0)
        and clock_timestamp() - interval '1 minute' > coalesce(greatest(s.last_analyze, s.last_autoanalyze),
            '-infinity')
    order by s.n_mod_since_analyze / (1000 + greatest(c.reltuples, 0)) desc limit 1;
    if v_table is null then
        return 0;
    end if;
    execute format('analyze (skip_locked) %s', v_table);
    return 1;
end $$;
