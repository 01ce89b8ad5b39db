-- Rows that maintenance deletes after their time.

-- queue.clean_metrics: removes old windows of the metrics job. Returns the number of rows. Removes windows of a minute
-- after p_days days, and windows of an hour after 12 * p_days days. Windows of a day stay. `p_limit` is the maximum
-- number of windows of each table and length. Uses the indexes metrics_window_starts_at and metrics_latency_starts_at.
create or replace function queue.clean_metrics(p_limit int, p_days int) returns bigint
language plpgsql as $$
declare
    v_removed bigint := 0;
    v_rows bigint;
    v_retention record;
begin
    for v_retention in
        select k.seconds, clock_timestamp() - k.days * interval '1 day' as since
        from (values (60, p_days::bigint), (3600, 12 * p_days::bigint)) k(seconds, days)
    loop
        delete from queue.metrics_window w where w.ctid = any (array(
            select e.ctid from queue.metrics_window e
            where e.window_seconds = v_retention.seconds and e.starts_at < v_retention.since
            order by e.starts_at limit p_limit for update skip locked));
        get diagnostics v_rows = row_count;
        v_removed := v_removed + v_rows;
        delete from queue.metrics_latency l where l.ctid = any (array(
            select e.ctid from queue.metrics_latency e
            where e.window_seconds = v_retention.seconds and e.starts_at < v_retention.since
            order by e.starts_at limit p_limit for update skip locked));
        get diagnostics v_rows = row_count;
        v_removed := v_removed + v_rows;
    end loop;
    return v_removed;
end $$;

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
            where e.recorded_at < (select clock_timestamp()) - p_seconds * interval '1 second'
            order by e.recorded_at limit p_limit for update skip locked))
        returning r.recorded_at)
    select count(*), max(r.recorded_at) into v_removed, v_newest from removed r;
    if v_removed > 0 then
        insert into queue.history_drop as d (name, dropped_before) values ('schedule_run', v_newest)
        on conflict (name) do update set dropped_before = greatest(d.dropped_before, excluded.dropped_before);
    end if;
    return v_removed;
end $$;
