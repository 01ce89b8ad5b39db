-- queue.unlog_message(queue, shard, id): brings a message of the log that can be received to the slow path, where it can be
-- received, too. Returns done; busy: a receive reads the shard at this moment; gone: it is in flight, or was deleted.
-- Locks: advisory, reader of the shard, or the lease's row; it waits for neither.
create or replace function queue.unlog_message(p_queue_id int, p_shard int, p_id bigint) returns text
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_lease record;
begin
    if p_id > (select max(x.pos) from queue.lease x where x.queue_id = p_queue_id and x.shard = p_shard) then
        if not pg_try_advisory_xact_lock(queue.lock_key(1, p_queue_id, p_shard)) then
            return 'busy';
        end if;
        return case when queue.take_unreceived(p_queue_id, p_shard, p_id, v_now, false, false) then 'done' else 'gone' end;
    end if;
    select x.pos, x.receive_count into v_lease from queue.lease x
    where x.queue_id = p_queue_id and x.shard = p_shard and x.pos >= p_id and x.first_id <= p_id and p_id = any (x.ids)
        and (x.visible_at <= v_now or x.visible_at = 'infinity')
    order by x.pos limit 1 for update skip locked;
    if v_lease.pos is null then
        return 'gone';
    end if;
    return case when queue.unlease_messages(
        p_queue_id, p_shard, v_lease.pos, v_lease.receive_count, array[p_id], v_now) then 'done' else 'gone' end;
end $$;
