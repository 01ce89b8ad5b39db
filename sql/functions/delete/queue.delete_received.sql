-- queue.delete_received: deletes messages that are not in the leases that their handles name, except p_already: they are
-- in the slow path, were received again since, or wait again, since a crash of the server undid their receive
-- (receive_messages, p_async_commit). Arrays, one element a handle: id and message id, which decides.
-- Returns the ids that it deleted.
-- Locks: as delete_by_id, but after leases, where a purge locks readers of shards first, and another call may have the
-- lease of the newer receive: PostgreSQL may abort one of the two because of a deadlock. Index: side_pkey, log_pkey,
-- lease_pkey.
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
    return v_deleted;
end $$;
