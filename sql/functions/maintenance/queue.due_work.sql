-- queue.due_work: returns the workers that have work, for a process whose workers wait for notifications. A process
-- needs this function because notifications can be lost, and because another process's change does not always notify
-- this process.
--   `changes` is the result of count_changes.
--   `due` contains the names of these notifications: `deliveries` means that a delivery is due. `schedules` means that
--     a schedule or a retry is due. `move-tasks` means that a message move task runs and does not wait for a user to
--     continue it. `maintenance` means that the retention of a measured message is over, that ids still have to jump,
--     or that a deletion can no longer be undone.
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
        case when v_expiry < '0'
            or exists (select from queue.late_id_jump)
            or exists (
                select from queue.pending_deletion d where d.deleted_at <= v_now - interval '30 seconds')
            or exists (select from queue.server s where s.jump_after is not null) then 'maintenance' end], null);
end $$;
