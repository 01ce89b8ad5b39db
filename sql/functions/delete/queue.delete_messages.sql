-- queue.delete_messages: acknowledges messages by their receipt handles. Each handle has an element in each array.
-- `p_nonces` contains the nonce of each handle's lease, or 0 for a handle without a lease.
--   `n` is the position of the handle, from 1.
--   `outcome` is deleted, gone, no_queue or expired. `gone` means that the message was deleted before. `expired` means
--     that the visibility timeout of a FIFO message is over, even if another consumer has received the message since
--     then.
-- The section "an old receipt handle" of docs/reference/compatibility.md says which handles work. After a failover or a
-- restore, two messages can have the same id. A handle never deletes another message with the same id, because the
-- function compares the lease's nonce, or the message id if the handle contains no lease. Locks FIFO groups, then
-- leases and messages from the highest shard to the lowest. Locks the rows of each kind in the order of their keys.
-- Concurrent calls can wait for each other, but deadlock only with handles from earlier receives (delete_received).
-- This file also contains delete_received.
create or replace function queue.delete_messages(
    p_queue_ids int[], p_shards smallint[], p_positions bigint[], p_ids bigint[], p_receive_counts int[],
    p_nonces int[], p_message_ids uuid[])
returns table (n int, outcome text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_handles record;
    v_queue record;
    v_deleted bigint[];
    v_given bigint[];
    v_message_ids uuid[];
    v_counted int;              -- This is the queue whose deletions v_count counts.
    -- Other functions count deletions of FIFO messages, of messages in the side table (queue.side), and of messages
    -- that were received again.
    v_count int := 0;
begin
    if queue.fifo_shard() = any (p_shards) then
        perform queue.lock_groups_of_messages(array(
            select h.id from unnest(p_shards, p_ids) h(shard, id) where h.shard = queue.fifo_shard()));
    end if;
    for v_handles in
        select h.queue_id, h.shard, h.pos, h.receive_count, h.nonce, array_agg(distinct h.id) as ids,
            array_agg(h.n::int order by h.n) as numbers
        from unnest(p_queue_ids, p_shards, p_positions, p_ids, p_receive_counts, p_nonces)
            with ordinality h(queue_id, shard, pos, id, receive_count, nonce, n)
        group by h.queue_id, h.shard, h.pos, h.receive_count, h.nonce
        order by h.queue_id, h.shard desc, h.pos, h.receive_count
    loop
        select q.queue_id, q.archives, q.keeps_history, q.retention_seconds into v_queue
        from queue.queues q where q.queue_id = v_handles.queue_id;
        if v_queue.queue_id is null then
            return query select u, 'no_queue'::text from unnest(v_handles.numbers) u;
            continue;
        end if;
        -- Messages that are still in the lease of the handle
        v_deleted := '{}';
        if v_handles.pos > 0 and v_handles.shard <> queue.fifo_shard() then
            v_deleted := queue.delete_leased(v_queue.queue_id, v_handles.shard, v_handles.pos,
                v_handles.nonce, v_handles.ids, v_queue.archives);
            if v_queue.queue_id <> v_counted and v_count > 0 then
                insert into queue.activity (queue_id, deleted) values (v_counted, v_count);
                v_count := 0;
            end if;
            v_counted := v_queue.queue_id;
            v_count := v_count + cardinality(v_deleted);
        end if;
        if v_deleted = v_handles.ids then                       -- In the usual case, the lease contained all messages.
            return query select u, 'deleted'::text from unnest(v_handles.numbers) u;
            continue;
        end if;
        -- Messages that are elsewhere
        v_given := array(select p_ids[u] from unnest(v_handles.numbers) u);
        v_message_ids := array(select p_message_ids[u] from unnest(v_handles.numbers) u);
        if v_handles.shard = queue.fifo_shard() then
            return query select * from queue.delete_fifo(
                p_queue_id => v_queue.queue_id, p_receive_count => v_handles.receive_count, p_ids => v_given,
                p_message_ids => v_message_ids, p_numbers => v_handles.numbers, p_archives => v_queue.archives,
                p_keeps_history => v_queue.keeps_history,
                p_retention => v_queue.retention_seconds * interval '1 second');
        else
            v_deleted := v_deleted || queue.delete_received(
                p_queue_id => v_queue.queue_id, p_shard => v_handles.shard, p_ids => v_given,
                p_message_ids => v_message_ids, p_already => v_deleted, p_archives => v_queue.archives,
                p_keeps_history => v_queue.keeps_history);
            return query
            select u.n, case when u.id = any (v_deleted) then 'deleted' else 'gone' end
            from unnest(v_handles.numbers, v_given) u(n, id);
        end if;
    end loop;
    if v_count > 0 then
        insert into queue.activity (queue_id, deleted) values (v_counted, v_count);
    end if;
end $$;

-- queue.delete_received: deletes messages that are no longer in their handles' leases. Returns the deleted ids. A
-- message has left its handle's lease if it moved to the side table, if it was received again, or if a crash undid its
-- receive (receive_messages, asynchronous commit).
--   `p_ids` contains the ids, with an element for each handle.
--   `p_message_ids` contains the message ids, by which the function recognises the messages.
--   `p_already` contains the ids that the caller has already deleted.
-- Takes the locks of delete_by_id, but after leases. A purge locks readers before leases. PostgreSQL can therefore
-- abort the purge or this transaction because of a deadlock. Uses the indexes side_pkey, log_pkey and lease_pkey.
create or replace function queue.delete_received(
    p_queue_id int, p_shard int, p_ids bigint[], p_message_ids uuid[], p_already bigint[], p_archives boolean,
    p_keeps_history boolean)
returns bigint[]
language plpgsql as $$
declare
    v_message record;
    v_deleted bigint[];
begin
    v_deleted := queue.delete_side(p_queue_id, p_shard, p_ids, p_message_ids, p_archives, p_keeps_history);
    for v_message in
        select distinct u.id from unnest(p_ids, p_message_ids) u(id, message_id)
        join queue.log l on l.queue_id = p_queue_id and l.shard = p_shard and l.id = u.id
            and l.message_id = u.message_id
        where u.id <> all (p_already || v_deleted) order by u.id
    loop
        if queue.delete_one(p_queue_id, p_shard, v_message.id, p_archives, p_keeps_history) then
            v_deleted := v_deleted || v_message.id;
        end if;
    end loop;
    -- A message leaves the log when another transaction moves it to the side table after the first statement.
    if not (v_deleted || p_already) @> p_ids then
        v_deleted := v_deleted || queue.delete_side(
            p_queue_id, p_shard, p_ids, p_message_ids, p_archives, p_keeps_history);
    end if;
    return v_deleted;
end $$;
