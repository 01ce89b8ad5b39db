-- queue.record_deletion: records that a message of take_message was deleted, in the history, in the archive and in the
-- counts, if the queue keeps them. Has no effect if the queue does not exist.
create or replace function queue.record_deletion(
    p_queue_id int, p_public_id bigint, p_message jsonb, p_deleted_at timestamptz)
returns void
language plpgsql as $$
begin
    insert into queue.activity (queue_id, deleted)
    select q.queue_id, 1 from queue.queues q where q.queue_id = p_queue_id;
    -- Messages of FIFO queues have the same columns, without entered_at.
    insert into queue.history
    select h.* from queue.queues q
    cross join lateral jsonb_populate_record(null::queue.side, p_message) m
    cross join lateral queue.history_row(
        p_queue_id => p_queue_id, p_outcome => 'deleted', p_system => m.system, p_receive_count => m.receive_count,
        p_first_received_at => m.first_received_at, p_redelivered_at => m.redelivered_at, p_sent_at => m.sent_at,
        p_entered_at => m.entered_at, p_finished_at => p_deleted_at) h
    where q.queue_id = p_queue_id and q.keeps_history;
    insert into queue.archive overriding user value
    select r.* from queue.queues q
    cross join lateral jsonb_populate_record(null::queue.archive, p_message || jsonb_build_object(
        'public_id', p_public_id, 'archived_at', p_deleted_at)) r
    where q.queue_id = p_queue_id and q.archives;
end $$;
