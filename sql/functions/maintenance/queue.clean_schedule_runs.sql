-- queue.clean_schedule_runs: removes up to p_limit runs that were recorded more than p_seconds ago. Returns the number
-- of removed runs. The table queue.history_drop stores the time from which on runs are complete. Uses the index
-- schedule_run_recorded_at.
create or replace function queue.clean_schedule_runs(p_limit int, p_seconds int) returns bigint
language plpgsql as $$
declare
    v_removed bigint;
    v_newest timestamptz;
begin
    with removed as (
        delete from queue.schedule_run r where r.run_id = any (array(
            select e.run_id from queue.schedule_run e
            where e.recorded_at < clock_timestamp() - p_seconds * interval '1 second'
            order by e.recorded_at limit p_limit for update skip locked))
        returning r.recorded_at)
    select count(*), max(r.recorded_at) into v_removed, v_newest from removed r;
    if v_removed > 0 then
        insert into queue.history_drop as d (name, dropped_before) values ('schedule_run', v_newest)
        on conflict (name) do update set dropped_before = greatest(d.dropped_before, excluded.dropped_before);
    end if;
    return v_removed;
end $$;
