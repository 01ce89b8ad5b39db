-- queue.delete_one: deletes a message in any state by its shard and id. Returns false if the message does not exist.
-- Takes the locks of delete_by_id.
create or replace function queue.delete_one(
    p_queue_id int, p_shard int, p_id bigint, p_archives boolean, p_keeps_history boolean) returns boolean
language plpgsql as $$
declare
    v_lease record;
    v_is_reader boolean := false;
begin
    if p_shard = queue.fifo_shard() then
        return exists (
            select from queue.delete_fifo(
                p_queue_id => p_queue_id, p_receive_count => null, p_ids => array[p_id], p_message_ids => null,
                p_numbers => array[1], p_archives => p_archives, p_keeps_history => p_keeps_history,
                p_retention => (
                    select q.retention_seconds * interval '1 second' from queue.queues q
                    where q.queue_id = p_queue_id)) d
            where d.outcome = 'deleted');
    end if;
    -- While this function waits for a lock, another transaction can move the message. A receive can move the message
    -- from the log to a lease, or from one lease to another lease. A change of visibility can move the message to the
    -- side table (queue.side).
    loop
        if queue.delete_side(p_queue_id, p_shard, array[p_id], null, p_archives, p_keeps_history) <> '{}' then
            return true;
        elsif p_shard < 0 then
            return false;
        end if;
        select n.pos, n.nonce, p_id = any (n.ids) as held into v_lease from (
            select x.pos, x.nonce, x.ids from queue.lease x
            where x.queue_id = p_queue_id and x.shard = p_shard and x.pos >= p_id order by x.pos limit 200) n
        order by held desc, n.pos limit 1;        -- Leases can overlap (take_fair).
        if v_lease.held and queue.delete_leased(
            p_queue_id, p_shard, v_lease.pos, v_lease.nonce, array[p_id], p_archives) <> '{}'
        then
            insert into queue.activity (queue_id, deleted) values (p_queue_id, 1);
            return true;
        elsif v_lease.held is null and not v_is_reader then
            if queue.take_unreceived(p_queue_id, p_shard, p_id, null, p_archives, p_keeps_history) then
                return true;
            end if;
            v_is_reader := true;        -- No other receive can now take the message from the log.
        elsif v_lease.held is not true then
            return queue.delete_side(p_queue_id, p_shard, array[p_id], null, p_archives, p_keeps_history) <> '{}';
        end if;
    end loop;
end $$;
