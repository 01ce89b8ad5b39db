-- queue.record_acknowledged(queue, shard, lease): records in the history the messages of a lease that were
-- acknowledged, before the other messages of the lease are handed out again. Returns the lease's new gone_at: all null,
-- since they are recorded. The caller holds the lease's row. Index: log_pkey.
create or replace function queue.record_acknowledged(p_queue_id int, p_shard int, p_lease queue.lease) returns timestamptz[]
language plpgsql as $$
begin
    insert into queue.history (queue_id, outcome, receive_count, first_received_at, redelivered_at, entered_by, group_ids,
        sent_at, finished_at)
    select p_queue_id, 'deleted', p_lease.receive_count, p_lease.first_received_at, p_lease.redelivered_at, f.entered_by,
        case when count(f.group_id) > 0 then array_agg(f.group_id) end, array_agg(f.sent_at), array_agg(f.finished_at)
    from (
        select l.sent_at, l.system ->> 'MessageGroupId' as group_id, queue.entered_by(l.system) as entered_by,
            p_lease.gone_at[array_position(p_lease.gone, l.id)] as finished_at
        from queue.log l
        where l.queue_id = p_queue_id and l.shard = p_shard and l.id = any (p_lease.gone)
            and l.id between p_lease.first_id and p_lease.pos) f     -- bounds the index scan; an array alone may not
    where f.finished_at is not null and (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id)
    group by f.entered_by;
    return array_fill(null::timestamptz, array[cardinality(p_lease.gone)]);
end $$;
