-- queue.read_late_work: returns late and failing work of an account, and what prevents the database from removing
-- deleted rows.
--   `kind` is schedules_late or deliveries_late for work that has been due for more than p_late seconds, and
--     schedule_fails for each of the first 50 schedules that fail, or schedule_paused if Penstock paused the schedule
--     at its failure_threshold. `kind` is old_transaction if a transaction has been
--     open for more than p_old seconds, and old_snapshot if a snapshot is older than p_transactions transactions.
--     `kind` is mapping_fails for each enabled mapping whose invocations have all failed for 10 seconds, and
--     mapping_stopped for each mapping that the service stopped, at most 50 mappings together. A mapping whose queue
--     has been empty for two minutes has nothing to do and does not count.
--     The other kinds are those of read_late_subscribers.
--   `name` is the schedule that fails or the first late schedule, after its group and a colon unless the group is
--     default, or the endpoint of the first late delivery, or the target of a mapping, or the subscriber. The value is
--     null in other rows.
--   `number` counts late work up to p_max, failures in a row, failed invocations, or transactions.
--   `since` is the time at which the first of the late work was due, or the first missed occurrence of a schedule, or
--     the start of the transaction. The value is null if it is unknown.
--   `error` is the last error of the schedule, the last result of the mapping, or the reason why it was stopped,
--     or the last error of a subscriber's target. For late work, it names a transaction with locks (find_blocker).
--   `owner` is the queue of a mapping, or the bus of a subscriber, by its ARN if it belongs to another account.
-- Old transactions come from the last measurement (measure_installation). Uses the indexes schedule_account_due,
-- schedule_account_failing, schedule_run_schedule, outgoing_delivery_account_due and event_source_mapping_troubled.
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

-- queue.find_blocker: returns which process of PostgreSQL holds a lock on p_table, or on another table of the schema,
-- in a transaction that began before p_before, or null. A lock that no write waits for does not count. The text has no
-- time if the role cannot see when the transaction began.
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
