-- queue.purge_messages: deletes all messages of a queue, including messages in flight.
--   `purged` is the number of messages.
--   `error` is QueueDoesNotExist or PurgeQueueInProgress. PurgeQueueInProgress means that the last purge was less than
--     p_interval_seconds ago.
-- A FIFO queue also forgets its deduplication ids (recorded at AWS), so a client can send the same id again at once.
-- Messages that open transactions have sent stay, with their deduplication ids. Locks the queue's row, then the readers
-- of all shards, leases and messages from the highest shard to the lowest. For a FIFO queue, locks the groups' rows,
-- then the deduplication ids in their order. Raises QU004 (not under READ COMMITTED).
create or replace function queue.purge_messages(p_arn text, p_interval_seconds int)
returns table (purged bigint, error text, detail text)
language plpgsql as $$
declare
    v_queue queue.queues;
    v_purged bigint := 0;
    v_newest timestamptz := clock_timestamp() + interval '5 minutes';    -- An id that arrives now has this expires_at.
begin
    perform queue.require_read_committed();
    select * into v_queue from queue.queues q where q.arn = p_arn for update;
    if v_queue.queue_id is null then
        return query select null::bigint, 'QueueDoesNotExist'::text, null::text;
        return;
    end if;
    if v_queue.purged_at between clock_timestamp() - p_interval_seconds * interval '1 second' and clock_timestamp() then
        return query select null::bigint, 'PurgeQueueInProgress'::text, v_queue.name;
        return;
    end if;
    update queue.queues q set purged_at = clock_timestamp() where q.queue_id = v_queue.queue_id;
    if v_queue.fifo then
        v_purged := queue.purge_groups(v_queue.queue_id);
        with seen as materialized (
            select d.scope, d.deduplication_id from queue.deduplication d
            where d.queue_id = v_queue.queue_id and d.expires_at <= v_newest
            order by d.scope, d.deduplication_id for update)
        delete from queue.deduplication d using seen s
        where d.queue_id = v_queue.queue_id and d.scope = s.scope and d.deduplication_id = s.deduplication_id
            and d.expires_at <= v_newest;
    else
        for v_shard in reverse v_queue.shards - 1 .. 0 loop
            v_purged := v_purged + queue.purge_shard(v_queue.queue_id, v_shard);
        end loop;
        delete from queue.deferred d where d.queue_id = v_queue.queue_id;
        v_purged := v_purged + queue.purge_side(v_queue.queue_id);
    end if;
    return query select v_purged, null::text, null::text;
end $$;
