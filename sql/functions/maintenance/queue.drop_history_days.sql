-- queue.drop_history_days(days): drops the partitions of the histories of days (UTC) longer ago than p_days, and notes
-- in queue.history_drop from when on a history is complete: the metrics job replaces no older window.
-- A drop locks the whole history. A drop that does not get that lock within 200 ms is left to the next run, since every
-- statement on the history would wait behind it. Runs as its owner, which owns the table.
create or replace function queue.drop_history_days(p_days int) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
declare
    v_table text;
    v_cut date := (now() at time zone 'utc')::date - p_days;
begin
    for v_table in
        select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent in ('queue.history'::regclass, 'queue.webhook_history'::regclass,
                'queue.webhook_attempt'::regclass)
            and c.relname ~ '^(history|webhook_history|webhook_attempt)_[0-9]{8}$'
            and right(c.relname, 8) < to_char(v_cut, 'YYYYMMDD')
    loop
        insert into queue.history_drop as d (name, dropped_before)
        values (regexp_replace(v_table, '_[0-9]{8}$', ''), v_cut::timestamp at time zone 'utc')
        on conflict (name) do update set dropped_before = greatest(d.dropped_before, excluded.dropped_before);
        execute format('drop table queue.%I', v_table);
    end loop;
exception when lock_not_available then
    null;
end $$;
