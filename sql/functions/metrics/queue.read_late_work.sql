-- queue.read_late_work: returns the late and failing work of an account, and the transactions and snapshots that stop
-- vacuum from removing dead rows. The values of `kind`:
--   schedules_late and deliveries_late: work has been due for more than p_late seconds. One row each.
--   schedule_fails: a schedule fails. schedule_paused: Penstock paused a schedule at its failure_threshold. At most 50
--     rows together.
--   mapping_fails: all invocations of an enabled mapping have failed for 10 seconds. mapping_stopped: the service
--     stopped a mapping. At most 50 rows together. The function omits a mapping whose queue is empty, unless its
--     invocations began to fail in the last two minutes.
--   old_transaction: a transaction has been open for more than p_old seconds. old_snapshot: a snapshot is older than
--     p_transactions transactions.
--   The kinds of read_late_subscribers.
-- The other columns depend on the kind:
--   `name` is the failing schedule, the first late schedule, the endpoint of the first late delivery, the target of the
--     mapping, or the subscriber. A schedule outside the group default has its group and a colon before its name. For
--     transactions and snapshots, `name` is null.
--   `number` is the number of late tasks (at most p_max), failures in a row, failed invocations, or transactions.
--   `since` is the time at which the first late task was due, the first occurrence that the schedule missed, the time
--     at which the mapping began to fail, or the start of the transaction. It is null if the time is not known.
--   `error` is the last error of the schedule or of the subscriber's target, the last result of the mapping, or the
--     reason why the service stopped the mapping. For late work, `error` names a transaction that holds locks
--     (find_blocker).
--   `owner` is the queue of the mapping, or the bus of the subscriber. A bus of another account appears as its ARN.
-- Reads the ages of transactions from the last measurement (measure_installation). Uses the indexes
-- schedule_account_due, schedule_account_failing, schedule_run_schedule, outgoing_delivery_account_due and
-- event_source_mapping_troubled.
-- This file also contains find_blocker.
create or replace function queue.read_late_work(
    p_account_id text, p_region text, p_max int, p_late double precision, p_old double precision,
    p_transactions bigint)
returns table (kind text, name text, number bigint, since timestamptz, error text, mapping_id text, owner text)
language plpgsql stable as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_late timestamptz := v_now - p_late * interval '1 second';
begin
    return query
    select 'schedules_late', (array_agg(l.name order by l.due_at))[1], count(*), min(l.due_at),
        (select queue.find_blocker('queue.schedule', v_late)), null::text, null::text
    from (
        select s.due_at, case when s.group_name = 'default' then s.name else s.group_name || ':' || s.name end as name
        from queue.schedule s
        where s.account_id = p_account_id and s.status = 'active' and s.due_at < v_late and s.region = p_region
        order by s.due_at limit p_max) l
    having count(*) > 0;
    return query
    select case when f.api = 'rest' and f.status = 'paused' and f.consecutive_failures >= f.failure_threshold
            then 'schedule_paused' else 'schedule_fails' end,
        case when f.group_name = 'default' then f.name else f.group_name || ':' || f.name end,
        f.consecutive_failures::bigint, (
        select min(r.scheduled_for) from (
            select x.* from queue.schedule_run x
            where x.schedule_id = f.schedule_id order by x.run_id desc limit f.consecutive_failures) r
        where r.fired_at is null and r.error is not null and not r.out_of_band), f.last_error, null::text,
        null::text
    from (
        select s.* from queue.schedule s
        where s.account_id = p_account_id and s.region = p_region and s.consecutive_failures > 0
        order by s.group_name, s.name limit 50) f;
    return query
    select 'deliveries_late', (array_agg(l.endpoint order by l.due_at))[1], count(*), min(l.due_at),
        (select queue.find_blocker('queue.outgoing_delivery', v_late)), null::text, null::text
    from unnest(queue.delivery_carriers()) k(carrier)
    cross join lateral (
        select d.due_at, d.endpoint from queue.outgoing_delivery d
        where d.account_id = p_account_id and d.carrier = k.carrier and d.state = 'pending' and not d.waiting
            and d.due_at < v_late
        order by d.due_at limit p_max) l
    having count(*) > 0;
    return query
    select case when m.enabled then 'mapping_fails' else 'mapping_stopped' end,
        m.function_arn, m.failed_invocations, m.failing_since,
        case when m.enabled then m.last_result else m.reason end, m.mapping_id::text, split_part(m.queue_arn, ':', 6)
    from queue.event_source_mapping m
    where m.account_id = p_account_id and m.region = p_region
        and (m.failing_since is not null or (not m.enabled and m.reason <> 'USER_INITIATED'))
        and case when m.enabled then m.failing_since < v_now - interval '10 seconds'
            else m.reason <> 'USER_INITIATED' end
        and (m.failing_since > v_now - interval '2 minutes' or exists (
            select from queue.queues q join queue.measurement x on x.queue_id = q.queue_id
            where q.arn = m.queue_arn and (x.visible > 0 or x.in_flight > 0 or x.delayed > 0)))
    order by m.failing_since, m.mapping_id
    limit 50;
    return query
    select x.kind, x.name, x.number, x.since, x.error, null::text, x.bus
    from queue.read_late_subscribers(p_account_id, p_region, p_late) x;
    return query
    select 'old_transaction', null::text, 1::bigint, v_now - r.value * interval '1 second', null::text, null::text,
        null::text
    from queue.reading r where r.name = 'oldest_transaction' and r.label = '' and r.value > p_old
    union all
    select 'old_snapshot', null, r.value::bigint, null, null, null, null
    from queue.reading r where r.name = 'oldest_xmin' and r.label = '' and r.value > p_transactions;
end $$;

-- queue.find_blocker: returns a text about a PostgreSQL process that holds a lock on a table of the schema, in a
-- transaction that began before p_before. Prefers a lock on p_table. Returns null if no process holds such a lock.
-- Ignores locks that block no write. The text omits the start of the transaction if the role cannot see it.
create or replace function queue.find_blocker(p_table regclass, p_before timestamptz) returns text
language sql stable as $$
    select format('PostgreSQL''s process %s holds a lock on %s', a.pid, l.relation::regclass)
        || coalesce(to_char(
            a.xact_start at time zone 'UTC', '", in a transaction since "YYYY-MM-DD HH24:MI:SS" UTC"'), '')
    from pg_locks l
    join pg_stat_activity a on a.pid = l.pid
    join pg_class c on c.oid = l.relation
    where l.locktype = 'relation' and l.granted and l.mode not in ('AccessShareLock', 'ShareUpdateExclusiveLock')
        and a.datname = current_database() and c.relkind in ('r', 'p') and c.relnamespace = 'queue'::regnamespace
        and (a.xact_start < p_before or a.xact_start is null) and a.pid <> pg_backend_pid()
    order by l.relation = p_table desc, a.xact_start
    limit 1
$$;
