-- queue.delete_side: deletes messages of the side table (queue.side). Returns the deleted ids. `p_message_ids`
-- restricts the deletion to messages with these message ids. Null means any message id. Locks the messages' rows.
create or replace function queue.delete_side(
    p_queue_id int, p_shard int, p_ids bigint[], p_message_ids uuid[], p_archives boolean, p_keeps_history boolean)
returns bigint[]
language plpgsql as $$
declare
    v_rows tid[];
    v_deleted bigint[];
    v_now timestamptz;
    v_late bigint;
begin
    -- Each id needs a separate look-up, because for `id = any (…)` the planner can choose a scan of all the queue's
    -- messages. This statement locks the rows, so that the next statement sees the rows' newest versions.
    v_rows := array(
        select (select s.ctid from queue.side s
                where s.queue_id = p_queue_id and s.shard = p_shard and s.id = u.id
                    and s.message_id = coalesce(u.message_id, s.message_id)
                for update)
        from unnest(p_ids, p_message_ids) u(id, message_id));
    v_now := clock_timestamp();
    if p_archives then      -- A separate statement has no cost if the queue does not archive.
        insert into queue.archive overriding user value
        select r.* from queue.side s
        cross join lateral jsonb_populate_record(null::queue.archive, to_jsonb(s) || jsonb_build_object(
            'public_id', queue.public_id(s.shard, s.id), 'archived_at', clock_timestamp())) r
        where s.ctid = any (v_rows);
    end if;
    with deleted as (
        delete from queue.side s
        where s.ctid = any (v_rows) returning s.*),
    counted as (
        insert into queue.activity (queue_id, deleted)
        select p_queue_id, count(*) from deleted d having count(*) > 0),
    recorded as (
        insert into queue.history
        select h.* from deleted d
        cross join lateral queue.history_row(
            p_queue_id => p_queue_id, p_outcome => 'deleted', p_system => d.system, p_receive_count => d.receive_count,
            p_first_received_at => d.first_received_at, p_redelivered_at => d.redelivered_at, p_sent_at => d.sent_at,
            p_entered_at => d.entered_at, p_finished_at => v_now) h
        where p_keeps_history)
    select array_agg(d.id), count(*) filter (where d.sent_at < v_now - (
        select q.retention_seconds from queue.queues q where q.queue_id = p_queue_id) * interval '1 second')
    into v_deleted, v_late from deleted d;
    perform queue.count_expired(p_queue_id, v_late, v_now);
    return coalesce(v_deleted, '{}');
end $$;
