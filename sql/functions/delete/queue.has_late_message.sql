-- queue.has_late_message(queue, shard, from): returns whether the retention of the shard's first message from p_from on
-- is over.
create or replace function queue.has_late_message(p_queue_id int, p_shard int, p_from bigint) returns boolean
language sql stable as $$
select coalesce((
    select f.sent_at < clock_timestamp() - q.retention_seconds * interval '1 second'
    from queue.queues q
    cross join lateral (
        select l.sent_at from queue.log l
        where l.queue_id = p_queue_id and l.shard = p_shard and l.id >= p_from order by l.id limit 1) f
    where q.queue_id = p_queue_id), false)
$$;
