-- queue.add_history_day(name, day): makes the partition of one day (UTC) of `history`, `webhook_history` or `webhook_attempt`, unless it
-- exists or rows of that day already lie in the default partition (then they stay there). Does nothing when such a row
-- is inserted meanwhile, when another worker makes the partition, or when the default partition stays locked: the next
-- run tries again. Locks: the default partition. Runs as its owner, which owns the table.
create or replace function queue.add_history_day(p_name text, p_day date) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
declare
    v_table text := case when p_name in ('history', 'webhook_history', 'webhook_attempt') then p_name end;
    v_part text := v_table || to_char(p_day, '_YYYYMMDD');
    v_from timestamptz := p_day::timestamp at time zone 'utc';
    v_to timestamptz := (p_day + 1)::timestamp at time zone 'utc';
    v_taken boolean;
begin
    if v_table is not null and to_regclass('queue.' || v_part) is null then
        execute format('select exists (select from queue.%I h where h.recorded_at >= $1 and h.recorded_at < $2)',
            v_table || '_default') into v_taken using v_from, v_to;
        if not v_taken then
            execute format('create table if not exists queue.%I partition of queue.%I for values from (%L) to (%L)',
                v_part, v_table, v_from, v_to);
        end if;
    end if;
exception when check_violation or unique_violation or duplicate_table or lock_not_available then
    null;
end $$;
