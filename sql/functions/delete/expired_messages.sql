-- Deletion of one message, and of the expired messages in a lease.

-- queue.delete_by_id: deletes messages in any state. Returns the ids that existed. `p_archive` archives the messages
-- even if the queue does not archive. Locks the readers of the shards that contain unreceived messages, then groups,
-- leases and messages. Raises QU004 (not under READ COMMITTED) for messages that were never received.
create or replace function queue.delete_by_id(p_arn text, p_public_ids bigint[], p_archive boolean default false)
returns table (id bigint)
language plpgsql as $$
#variable_conflict use_column
declare
    v_queue queue.queues;
    v_message record;
begin
    select * into v_queue from queue.queues q where q.arn = p_arn;
    perform queue.lock_messages(v_queue, p_public_ids);
    for v_message in
        select distinct u as public_id, u >> 8 as id, (u & 255)::int - 2 as shard
        from unnest(p_public_ids) u where v_queue.queue_id is not null order by 3 desc, 2
    loop
        if queue.delete_one(v_queue.queue_id, v_message.shard, v_message.id, v_queue.archives or p_archive,
            v_queue.keeps_history)
        then
            id := v_message.public_id;
            return next;
        end if;
    end loop;
end $$;

-- queue.expire_leased: removes a lease's messages that were sent before p_sent_before, because they have expired.
-- Returns the lease with its other messages. The caller is the shard's reader and has locked the lease's row. Takes the
-- locks of purge_side.
create or replace function queue.expire_leased(p_lease queue.lease, p_sent_before timestamptz) returns queue.lease
language plpgsql as $$
declare
    v_ids bigint[];
    v_lease queue.lease;
begin
    v_ids := array(
        select l.id from queue.log l
        where l.queue_id = p_lease.queue_id and l.shard = p_lease.shard and l.id = any (p_lease.ids)
            and l.id between p_lease.first_id and p_lease.pos and l.sent_at < p_sent_before
        order by l.id);
    if v_ids = '{}' then
        return p_lease;
    end if;
    perform queue.unlease_messages(p_lease.queue_id, p_lease.shard, p_lease.pos, p_lease.receive_count, v_ids,
        clock_timestamp());
    perform queue.purge_side(p_lease.queue_id, p_sent_before);
    select * into v_lease from queue.lease x
    where x.queue_id = p_lease.queue_id and x.shard = p_lease.shard and x.pos = p_lease.pos;
    return v_lease;
end $$;

-- queue.lock_messages: locks what a deletion of messages by their public ids needs: the readers of the shards that
-- contain unreceived messages, then the groups of a FIFO queue. Locks only this queue's groups, because the caller can
-- keep the locks for long.
create or replace function queue.lock_messages(p_queue queue.queues, p_public_ids bigint[]) returns void
language plpgsql as $$
begin
    perform queue.lock_readers_of_messages(p_queue.queue_id, p_public_ids);
    if p_queue.fifo then
        perform queue.lock_groups_of_messages(array(
            select (select m.id from queue.fifo_message m where m.id = u >> 8 and m.queue_id = p_queue.queue_id)
            from unnest(p_public_ids) u));
    end if;
end $$;

-- queue.lock_readers_of_messages: makes this transaction the reader of the shards that contain unreceived messages from
-- a list. No other transaction can then receive these messages. A caller locks the readers before leases, as a purge
-- does. Locks the readers from the highest shard to the lowest.
create or replace function queue.lock_readers_of_messages(p_queue_id int, p_public_ids bigint[]) returns void
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(queue.lock_key(1, p_queue_id, s.shard))
    from (
        select distinct (u & 255)::int - 2 as shard
        from unnest(p_public_ids) u
        where u & 255 >= 2 and u >> 8 > (
            select max(x.pos) from queue.lease x where x.queue_id = p_queue_id and x.shard = (u & 255) - 2)
        order by 1 desc) s;
end $$;
