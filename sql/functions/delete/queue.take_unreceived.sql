-- queue.take_unreceived: removes an unreceived message from the log. Returns false if the log does not have the
-- message. If p_visible_at is null, the function deletes the message. Otherwise, the function moves the message to the
-- side table (queue.side), where the message becomes visible at p_visible_at. Adds the id to queue.hole, which keeps
-- counts exact. Locks the shard's reader. Raises QU004 (not under READ COMMITTED).
create or replace function queue.take_unreceived(
    p_queue_id int, p_shard int, p_id bigint, p_visible_at timestamptz, p_archives boolean, p_keeps_history boolean)
returns boolean
language plpgsql as $$
declare
    v_message queue.log;
    v_now timestamptz := clock_timestamp();
begin
    perform queue.require_read_committed();
    perform pg_advisory_xact_lock(queue.lock_key(1, p_queue_id, p_shard));
    delete from queue.log l
    where l.queue_id = p_queue_id and l.shard = p_shard and l.id = p_id
        and l.id > (select max(x.pos) from queue.lease x where x.queue_id = p_queue_id and x.shard = p_shard)
    returning l.* into v_message;
    if v_message.id is null then
        return false;
    end if;
    insert into queue.hole (queue_id, shard, id) values (p_queue_id, p_shard, p_id);
    if p_visible_at is not null then
        insert into queue.side
        select r.* from jsonb_populate_record(null::queue.side, to_jsonb(v_message) || jsonb_build_object(
            'visible_at', p_visible_at, 'receive_count', 0)) r;
        return true;
    end if;
    insert into queue.activity (queue_id, deleted) values (p_queue_id, 1);
    perform queue.count_expired(p_queue_id, 1, v_now) from queue.queues q
    where q.queue_id = p_queue_id and v_message.sent_at < v_now - q.retention_seconds * interval '1 second';
    if p_archives then
        insert into queue.archive overriding user value
        select r.* from jsonb_populate_record(null::queue.archive, to_jsonb(v_message) || jsonb_build_object(
            'public_id', queue.public_id(p_shard, p_id), 'archived_at', clock_timestamp(), 'receive_count', 0)) r;
    end if;
    if p_keeps_history then
        insert into queue.history
        select h.* from queue.history_row(
            p_queue_id => p_queue_id, p_outcome => 'deleted', p_system => v_message.system, p_receive_count => 0,
            p_first_received_at => null, p_redelivered_at => null, p_sent_at => v_message.sent_at,
            p_entered_at => null, p_finished_at => v_now) h;
    end if;
    return true;
end $$;
