-- Counts of messages that expired or were deleted late.

-- queue.count_expired: counts expired messages in the queue's minutes and in the queue's measurement. `p_deleted_at` is
-- the time at which a consumer deleted the messages, which the caller has counted as deleted. Null means that no
-- consumer deleted the messages.
create or replace function queue.count_expired(
    p_queue_id int, p_messages bigint, p_deleted_at timestamptz default null) returns void
language plpgsql as $$
begin
    if p_messages > 0 then
        insert into queue.activity (queue_id, happened_at, deleted, expired)
        values (p_queue_id, coalesce(p_deleted_at, clock_timestamp()),
            case when p_deleted_at is null then 0 else -p_messages end, p_messages);
        insert into queue.outcome_count (queue_id, expired) values (p_queue_id, p_messages);
    end if;
end $$;

-- queue.count_late_deletions: counts a lease's messages as expired if a consumer deleted them after their retention
-- period. A delete counts expired messages as deleted, because the delete does not read the log. Runs when the history
-- records the messages, and corrects the minutes of the deletes. The caller holds the lock of the shard's reader.
create or replace function queue.count_late_deletions(p_lease queue.lease) returns void
language plpgsql as $$
begin
    perform queue.count_expired(p_lease.queue_id, count(*), d.deleted_at)
    from (
        select l.sent_at, case when l.id = any (p_lease.gone)
            then p_lease.gone_at[array_position(p_lease.gone, l.id)]
            when p_lease.outcome is null then p_lease.done_at end as deleted_at
        from queue.log l
        where l.queue_id = p_lease.queue_id and l.shard = p_lease.shard
            and l.id >= p_lease.first_id and l.id <= p_lease.pos) d
    join queue.queues q on q.queue_id = p_lease.queue_id
    where d.deleted_at > d.sent_at + q.retention_seconds * interval '1 second'
    group by d.deleted_at;
end $$;

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
