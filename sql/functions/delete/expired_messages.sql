-- Deletes messages by their public ids, and deletes the expired messages of a lease.

-- queue.delete_by_id: deletes messages in any state. Returns the public ids of the messages that existed. With
-- `p_archive`, archives the messages even if the queue has no archive. Takes the locks of lock_messages, then locks
-- leases and messages. Raises QU004 for messages that no consumer has received, unless the transaction is READ
-- COMMITTED.
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

-- queue.expire_leased: deletes the expired messages of a lease, which clients sent before p_sent_before. Returns the
-- lease with the remaining messages. The caller must hold the reader lock of the shard and the lock of the lease's row.
-- Takes the locks of purge_side.
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

-- queue.lock_messages: takes the locks for a deletion of messages by their public ids. Takes the reader locks of the
-- shards that contain unreceived messages, then locks the groups of a FIFO queue. Locks no group of another queue,
-- because the caller can hold the locks for a long time.
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

-- queue.lock_readers_of_messages: takes the reader lock of each shard that contains an unreceived message of the list.
-- No other transaction can then receive these messages. Takes the locks from the highest shard to the lowest. A caller
-- must call this function before it locks leases, because a purge locks in this order.
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
