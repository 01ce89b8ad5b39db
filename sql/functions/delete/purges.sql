-- Purges of FIFO groups and of the side table.

-- queue.purge_group: does the work of purge_groups for one group. The caller has locked the group's row.
create or replace function queue.purge_group(p_queue_id int, p_group_key bigint, p_sent_before timestamptz)
returns bigint
language plpgsql as $$
declare
    v_group_id text := (select g.group_id from queue.fifo_group g where g.group_key = p_group_key);
    v_first bigint := (select h.id from queue.first_group_message(p_group_key) h);
    v_messages bigint;
    v_now timestamptz := clock_timestamp();
begin
    with gone as (
        delete from queue.fifo_message m
        where m.group_key = p_group_key and m.group_key > 0 and m.id >= v_first and m.id < coalesce((
            select k.id from queue.fifo_message k
            where k.group_key = p_group_key and k.group_key > 0 and k.id >= v_first and k.sent_at >= p_sent_before
            order by k.id limit 1), 9223372036854775807)
        returning m.*),
    recorded as (
        insert into queue.history (queue_id, outcome, receive_count, first_received_at, redelivered_at, entered_by,
            group_id, sent_at, finished_at)
        select p_queue_id, e.outcome, g.receive_count,
            g.first_received_at, g.redelivered_at, queue.entered_by(g.system), v_group_id, array_agg(g.sent_at),
            array_agg(e.finished_at)
        from gone g
        cross join lateral queue.ending(p_queue_id, case when p_sent_before is null then 'purged' else 'expired' end,
            g.sent_at, null, g.first_received_at, v_now) e
        where (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id)
        group by e.outcome, g.receive_count, g.first_received_at, g.redelivered_at, queue.entered_by(g.system))
    select count(*) into v_messages from gone;
    if p_sent_before is not null then
        perform queue.count_expired(p_queue_id, v_messages);
    end if;
    perform queue.update_groups(array[p_group_key]);
    return v_messages;
end $$;

-- queue.purge_groups: deletes the messages of a FIFO queue and records them in the history. Returns the number of
-- messages.
--   `p_sent_before` is null if the function deletes all messages as purged. Otherwise, the function deletes messages
--     that were sent before this time, as expired.
--   `p_limit` is the maximum number of groups, and null means all groups.
-- Compares only a group's first message, which is the oldest. Locks the groups' rows in the order of their keys. Skips
-- locked groups if p_sent_before is not null, because a sender can lock a group for long.
create or replace function queue.purge_groups(
    p_queue_id int, p_sent_before timestamptz default null, p_limit int default null)
returns bigint
language plpgsql as $$
declare
    v_group record;
    v_all bigint := 0;
begin
    for v_group in
        select g.group_key, g.group_id from queue.fifo_group g
        where g.queue_id = p_queue_id and coalesce(p_sent_before, 'infinity') > (
            select m.sent_at from queue.first_group_message(g.group_key) m)
        order by g.group_key limit p_limit
    loop
        if p_sent_before is null then
            perform from queue.fifo_group g where g.group_key = v_group.group_key for update;
        else
            perform from queue.fifo_group g where g.group_key = v_group.group_key for update skip locked;
        end if;
        continue when not found;
        v_all := v_all + queue.purge_group(p_queue_id, v_group.group_key, p_sent_before);
    end loop;
    return v_all;
end $$;

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
