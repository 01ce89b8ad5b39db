-- The due work of the workers, and the changes since the last check.

-- queue.due_work: returns the workers that have work, for a process whose workers wait for notifications. A process
-- needs this function because notifications can be lost, and because another process's change does not always notify
-- this process.
--   `changes` is the result of count_changes.
--   `due` contains the names of these notifications: `deliveries` means that a delivery is due. `schedules` means that
--     a schedule or a retry is due. `move-tasks` means that a message move task runs and does not wait for a user to
--     continue it. `events` means that event buses have events or retries to deliver, or that archives have replays.
--     `maintenance` means that the retention of a measured message is over, that ids still have to jump, or that a
--     deletion can no longer be undone.
--   `expiry_ms` is the time until the next measured message's retention is over, or null if that takes more than a day.
-- A call costs 0.5 ms and reads queue.measurement. Uses the indexes outgoing_delivery_due, delivery_endpoint_next_at,
-- schedule_due, schedule_retry_due, move_task_running and pending_deletion_deleted_at.
create or replace function queue.due_work(out changes bigint, out due text[], out expiry_ms int)
language plpgsql stable as $$
declare
    v_now timestamptz := clock_timestamp();
    v_expiry interval := (
        select min(m.first_sent_at + q.retention_seconds * interval '1 second') - v_now
        from queue.measurement m join queue.queues q on q.queue_id = m.queue_id);
begin
    if v_expiry between '0' and '1 day' then
        expiry_ms := ceil(extract(epoch from v_expiry) * 1000);
    end if;
    changes := queue.count_changes();
    due := array_remove(array[
        case when exists (
                select from unnest(queue.delivery_carriers()) k(carrier)
                cross join lateral (
                    select from queue.outgoing_delivery d
                    where d.state = 'pending' and not d.waiting and d.carrier = k.carrier and d.due_at <= v_now
                    limit 1) d)
            or exists (select from queue.delivery_endpoint l where l.next_at <= v_now) then 'deliveries' end,
        case when exists (select from queue.schedule s where s.status = 'active' and s.due_at <= v_now)
            or exists (select from queue.schedule_retry r where r.due_at <= v_now) then 'schedules' end,
        case when exists (
                select from queue.move_task t
                where t.status = 'RUNNING' and (not queue.is_waiting(t) or t.paced_at < v_now - interval '24 hours'))
            then 'move-tasks' end,
        case when pg_sequence_last_value('queue.event_block') > coalesce((
                select w.number >> 10 from queue.event_watermark w order by w.version desc limit 1), 0)
            or exists (select from queue.event_gap)
            or queue.has_due_event(v_now)
            or exists (select from queue.topic_replay r where queue.is_replay_due(r))
            then 'events' end,
        case when v_expiry < '0'
            or exists (select from queue.late_id_jump)
            or exists (
                select from queue.pending_deletion d where d.deleted_at <= v_now - interval '30 seconds')
            or exists (select from queue.server s where s.jump_after is not null) then 'maintenance' end], null);
end $$;

-- queue.count_changes: returns the number of inserted, updated and deleted rows of this schema, from the server's
-- statistics. If the number differs from an earlier result, rows have changed. Omits partitions, and tables in which
-- workers and long polls only record their state. The server counts a session's changes at the session's next call, or
-- after ten seconds without a call (PostgreSQL documentation, "The Cumulative Statistics System"). A call costs 0.2 ms
-- and does not read tables.
create or replace function queue.count_changes() returns bigint
language sql stable as $$
select coalesce(sum(pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid)
    + pg_stat_get_tuples_deleted(c.oid)), 0)::bigint
from pg_class c
where c.relnamespace = 'queue'::regnamespace and c.relkind = 'r' and not c.relispartition and c.relname not in (
    'watcher', 'worker_position', 'measurement', 'reading', 'outcome_count', 'in_flight', 'fifo_search', 'sweep',
    'recent_firing', 'poll_slot', 'poller', 'activity', 'minute', 'account_minute', 'prepare_guard', 'alert',
    'alert_round')
$$;

-- queue.find_delivery_excess: records the accounts with p_max or more waiting deliveries. A p_max of 0 means no limit.
-- Returns the number of removed rows. Removes accounts that are below the limit. A recorded account cannot publish
-- (publish_messages, publish_events). Counts deliveries to a gateway, a mail server or a Lambda function separately by
-- protocol, which is the last part of the endpoint. A broken gateway therefore stops only publishes that need this
-- gateway (publish_messages, send_outgoing). Reads each pending delivery.
create or replace function queue.find_delivery_excess(p_max int) returns bigint
language plpgsql as $$
declare
    v_forgotten bigint;
begin
    insert into queue.delivery_excess as e (account_id, protocol, waiting, counted_at)
    select d.account_id, case when d.outgoing_id is null then '' else split_part(d.endpoint, '/', 4) end as protocol,
        count(*), clock_timestamp()
    from queue.outgoing_delivery d
    where p_max > 0 and d.state = 'pending' group by 1, 2 having count(*) >= p_max order by 1, 2
    on conflict (account_id, protocol) do update set waiting = excluded.waiting, counted_at = excluded.counted_at;
    delete from queue.delivery_excess e where e.counted_at < now();     -- This transaction has not counted these rows.
    get diagnostics v_forgotten = row_count;
    return v_forgotten;
end $$;
