-- queue.add_history_day(day): the history's partition of one day (UTC), unless it exists or rows of that day already
-- lie in the default partition (then they stay there). Does nothing when such a row comes meanwhile, when another worker
-- makes the partition, or when the default partition is not free within a moment: the next run tries again.
-- Locks: the default partition. Runs as its owner, who owns the table.
-- Called by: maintain_installation.
create or replace function queue.add_history_day(p_day date) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
begin
    if to_regclass(format('queue.history_%s', to_char(p_day, 'YYYYMMDD'))) is null
        and not exists (select from queue.history_default h
                        where h.recorded_at >= p_day::timestamp at time zone 'utc'
                            and h.recorded_at < (p_day + 1)::timestamp at time zone 'utc')
    then
        execute format('create table if not exists queue.%I partition of queue.history for values from (%L) to (%L)',
            'history_' || to_char(p_day, 'YYYYMMDD'), p_day::timestamp at time zone 'utc',
            (p_day + 1)::timestamp at time zone 'utc');
    end if;
exception when check_violation or unique_violation or duplicate_table or lock_not_available then
    null;
end $$;
