-- queue.read_lag: returns how far the consumers of queues are behind, in the order of the queues' names.
--   `p_name` restricts the result to this queue. Null means all queues.
--   `p_after` restricts the result to queues after this name. Null means all queues.
-- Counts come from the live tables and describe the current state. Rates (messages per second), drain_seconds, the
-- forecast and its outlook describe the time computed_at. `computed_at` is null if the last run found the queue idle
-- for an hour or did not see the queue. `latencies` (JSON by measure, see merge_latency) describe the two 1-hour
-- windows up to the end of the last run. Sixty windows of a minute would take 30 times the work. The first row has no
-- name:
--   `from_at` and `to_at` are the start and the end of the time that the latencies describe.
--   `computed_at` is the time at which the last successful run ended. If no run has succeeded, the value is null, and
--     `to_at` is now.
--   `latencies` contains the installation's measures `fire` and `delivery`.
-- Uses the indexes queues_account_id_region_name_key and metrics_latency_pkey. Costs as much as count_messages for each
-- queue.
create or replace function queue.read_lag(p_account_id text, p_region text, p_name text, p_after text, p_limit int)
returns table (name text, from_at timestamptz, to_at timestamptz, computed_at timestamptz, visible bigint,
    in_flight bigint, delayed bigint, oldest_age_us bigint, backlog bigint, arrival_rate float8, drain_rate float8,
    drain_seconds float8, forecast_at timestamptz[], forecast float8[], forecast_low float8[], forecast_high float8[],
    latencies text, outlook text)
language plpgsql stable as $$
#variable_conflict use_column
declare
    v_computed_at timestamptz;
    v_from timestamptz;
    v_to timestamptz;
begin
    select r.finished_at into v_computed_at from queue.metrics_run r
    where r.finished_at is not null and r.error is null order by r.run_id desc limit 1;
    v_to := coalesce(v_computed_at, clock_timestamp());
    v_from := date_trunc('hour', v_to, 'UTC') - interval '1 hour';
    return query
    with page as materialized (
        select q.* from queue.queues q
        where q.account_id = p_account_id and q.region = p_region and q.name > coalesce(p_after, '')
            and (p_name is null or q.name = p_name)
        order by q.name limit p_limit),
    latency as (
        select l.queue_id,
            jsonb_object_agg(l.measure, to_jsonb(l) - array['queue_id', 'measure', 'step_at'])::text as measures
        from queue.merge_latency((select array_agg(p.queue_id) || 0 from page p), '', 3600, v_from, v_to) l
        group by 1)
    select null::text, v_from, v_to, v_computed_at, null::bigint, null::bigint, null::bigint,
        null::bigint, null::bigint, null::float8, null::float8, null::float8, null::timestamptz[], null::float8[],
        null::float8[], null::float8[], (select l.measures from latency l where l.queue_id = 0), null::text
    union all
    select p.name, null, null, f.computed_at, c.visible, c.in_flight, c.delayed,
        (greatest(0, date_part('epoch', clock_timestamp() - c.oldest)) * 1000000)::bigint, f.backlog, f.arrival_rate,
        f.drain_rate, f.drain_seconds, f.forecast_at, f.forecast, f.forecast_low, f.forecast_high, l.measures,
        case when f.queue_id is not null then jsonb_build_object('warnings', f.warnings, 'outlook', jsonb_build_object(
            'method', f.method, 'reason', f.reason, 'interval_level', f.interval_level,
            'interval_coverage', f.interval_coverage, 'mean_error', f.mean_error,
            'unchanged_error', f.unchanged_error, 'backtests', f.backtests))::text end
    from page p
    cross join lateral queue.count_messages(p.queue_id, p.fifo, p.shards) c
    left join queue.metrics_forecast f on f.queue_id = p.queue_id
    left join latency l on l.queue_id = p.queue_id
    order by 1 nulls first;
end $$;
