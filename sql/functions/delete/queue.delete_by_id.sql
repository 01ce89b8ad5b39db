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
    perform queue.lock_readers_of_messages(v_queue.queue_id, p_public_ids);
    if v_queue.fifo then
        -- Locks only this queue's groups, because the caller can keep the locks for long.
        perform queue.lock_groups_of_messages(array(
            select (select m.id from queue.fifo_message m where m.id = u >> 8 and m.queue_id = v_queue.queue_id)
            from unnest(p_public_ids) u));
    end if;
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
