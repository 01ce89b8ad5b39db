-- queue.read_late_work: returns late and failing work of an account, and what prevents the database from removing
-- deleted rows.
--   `kind` is schedules_late or deliveries_late for work that has been due for more than p_late seconds, and
--     schedule_fails for each of the first 50 schedules that fail. `kind` is old_transaction if a transaction has been
--     open for more than p_old seconds, and old_snapshot if a snapshot is older than p_transactions transactions.
--   `name` is the schedule that fails, after its group and a colon unless the group is default. The value is null in
--     other rows.
--   `number` counts late work up to p_max, failures in a row, or transactions.
--   `since` is the time at which the first of the late work was due, or the first missed occurrence of a schedule, or
--     the start of the transaction. The value is null if it is unknown.
--   `error` is the last error of the schedule.
-- Old transactions come from the last measurement (measure_installation). Uses the indexes schedule_account_due,
-- schedule_account_failing, schedule_run_schedule and outgoing_delivery_account_due.
create or replace function queue.read_late_work(
    p_account_id text, p_region text, p_max int, p_late double precision, p_old double precision,
    p_transactions bigint)
returns table (kind text, name text, number bigint, since timestamptz, error text)
language plpgsql stable as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_late timestamptz := v_now - p_late * interval '1 second';
begin
    return query
    select 'schedules_late', null::text, count(*), min(l.due_at), null::text
    from (
        select s.due_at from queue.schedule s
        where s.account_id = p_account_id and s.status = 'active' and s.due_at < v_late and s.region = p_region
        order by s.due_at limit p_max) l
    having count(*) > 0;
    return query
    select 'schedule_fails', case when f.group_name = 'default' then f.name else f.group_name || ':' || f.name end,
        f.consecutive_failures::bigint, (
        select min(r.scheduled_for) from (
            select x.* from queue.schedule_run x
            where x.schedule_id = f.schedule_id order by x.run_id desc limit f.consecutive_failures) r
        where r.fired_at is null and r.error is not null and not r.out_of_band), f.last_error
    from (
        select s.* from queue.schedule s
        where s.account_id = p_account_id and s.region = p_region and s.consecutive_failures > 0
        order by s.group_name, s.name limit 50) f;
    return query
    select 'deliveries_late', null::text, count(*), min(l.due_at), null::text
    from unnest(queue.delivery_carriers()) k(carrier)
    cross join lateral (
        select d.due_at from queue.outgoing_delivery d
        where d.account_id = p_account_id and d.carrier = k.carrier and d.state = 'pending' and not d.waiting
            and d.due_at < v_late
        order by d.due_at limit p_max) l
    having count(*) > 0;
    return query
    select 'old_transaction', null::text, 1::bigint, v_now - r.value * interval '1 second', null::text
    from queue.reading r where r.name = 'oldest_transaction' and r.label = '' and r.value > p_old
    union all
    select 'old_snapshot', null, r.value::bigint, null, null
    from queue.reading r where r.name = 'oldest_xmin' and r.label = '' and r.value > p_transactions;
end $$;
