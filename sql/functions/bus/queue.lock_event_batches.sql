-- queue.lock_event_batches: locks the events that a worker still leases, until the end of the transaction. Returns
-- their ids and buses. Another worker can have the other events, because their lease was over.
--   `p_ids` and `p_leases` are the events and their leases (claim_event_batches).
-- Locks the delivery of the buses of FIFO subscribers first, because the delivery of a bus adds events behind those
-- that wait in their groups.
create or replace function queue.lock_event_batches(p_ids bigint[], p_leases uuid[])
returns table (retry_id bigint, bus_id bigint)
language plpgsql as $$
#variable_conflict use_column
begin
    perform pg_advisory_xact_lock(queue.event_delivery_key(b.bus_id))
    from (select distinct r.bus_id from queue.event_retry r
          where r.retry_id = any (p_ids) and r.group_key is not null order by r.bus_id) b;
    return query
    select r.retry_id, r.bus_id
    from unnest(p_ids, p_leases) u(id, lease)
    join queue.event_retry r on r.retry_id = u.id and r.lease = u.lease
    order by r.retry_id for update of r;
end $$;
