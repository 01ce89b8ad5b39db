-- queue.delete_lost: deletes messages under handles of a receive that a crash of the server has undone
-- (receive_messages, p_async_commit): the consumer has the messages, but in the database they wait again, or were
-- received again as if for the first time. In both cases they were received no more often than the handle says. Returns
-- the ids that it deleted.
-- Locks: as delete_by_id, but after leases, where a purge locks readers of shards first: shortly after a crash
-- PostgreSQL may abort one of the two because of a deadlock. Index: side_pkey, log_pkey, lease_pkey.
-- Called by: delete_messages.
create or replace function queue.delete_lost(
    p_queue_id int, p_shard int, p_receive_count int, p_ids bigint[], p_archives boolean, p_keeps_history boolean)
returns bigint[]
language plpgsql as $$
declare
    v_id bigint;
    v_count int;
    v_deleted bigint[] := '{}';
begin
    foreach v_id in array p_ids loop
        select s.receive_count into v_count from queue.side s
        where s.queue_id = p_queue_id and s.shard = p_shard and s.id = v_id;
        if not found and exists (
            select from queue.log l where l.queue_id = p_queue_id and l.shard = p_shard and l.id = v_id)
        then
            select n.receive_count into v_count from (      -- leases may overlap (take_fair)
                select x.receive_count, x.ids from queue.lease x
                where x.queue_id = p_queue_id and x.shard = p_shard and x.pos >= v_id order by x.pos limit 200) n
            where v_id = any (n.ids) limit 1;
            if not found and v_id > (
                select max(x.pos) from queue.lease x where x.queue_id = p_queue_id and x.shard = p_shard)
            then
                v_count := 0;
            end if;
        end if;
        if v_count <= p_receive_count
            and queue.delete_one(p_queue_id, p_shard, v_id, p_archives, p_keeps_history)
        then
            v_deleted := v_deleted || v_id;
        end if;
    end loop;
    return v_deleted;
end $$;
