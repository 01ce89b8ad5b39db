-- queue.clean_schedule_runs(limit, seconds): removes runs that were recorded more than p_seconds ago, at most p_limit.
-- Returns how many. Index: schedule_run_recorded_at. Called by: the worker `maintain`.
create or replace function queue.clean_schedule_runs(p_limit int, p_seconds int) returns bigint
language plpgsql as $$
declare
    v_removed bigint;
begin
    delete from queue.schedule_run r where r.run_id = any (array(
        select e.run_id from queue.schedule_run e
        where e.recorded_at < clock_timestamp() - p_seconds * interval '1 second'
        order by e.recorded_at limit p_limit for update skip locked));
    get diagnostics v_removed = row_count;
    return v_removed;
end $$;
