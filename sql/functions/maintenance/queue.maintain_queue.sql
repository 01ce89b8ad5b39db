-- queue.maintain_queue(queue): cleans a queue, deletes messages past their retention, removes groups that have been empty for a minute, and decides
-- whether receives count messages in flight.
-- Also removes up to 10,000 archived messages that are past the queue's `archive_seconds` (14 days).
-- Bounded: a call begins at a random shard and ends after the shard in which a second has passed.
-- Returns messages cleaned or expired. Index: archive_queue.
create or replace function queue.maintain_queue(p_queue_id int) returns bigint
language plpgsql as $$
declare
    v_queue queue.queues;
    v_now timestamptz := clock_timestamp();
    v_before timestamptz;
    v_messages bigint := 0;
    v_first int;
    v_shard int;
    v_old int[];        -- shards with messages past their retention
begin
    perform queue.require_read_committed();
    select * into v_queue from queue.queues q where q.queue_id = p_queue_id;
    if v_queue.queue_id is null then
        return 0;
    end if;
    delete from queue.archive a where a.archive_id = any (array(     -- archive_id is in the order of time
        select e.archive_id from (
            select o.archive_id, o.archived_at from queue.archive o
            where o.queue_id = p_queue_id order by o.archive_id limit 10000) e
        where e.archived_at < v_now
            - coalesce((v_queue.attributes ->> 'archive_seconds')::int, 1209600) * interval '1 second'));
    v_before := v_now - v_queue.retention_seconds * interval '1 second';
    if v_queue.fifo then
        v_messages := queue.purge_groups(p_queue_id, v_before);
        perform queue.remove_empty_groups(p_queue_id, 1000);
        perform queue.update_in_flight_counting(p_queue_id);
        return v_messages;
    end if;
    v_old := array(
        select b.shard from queue.ready_shards(p_queue_id, v_queue.shards, v_now) b where b.since < v_before);
    v_first := floor(random() * v_queue.shards);
    for v_step in 0 .. v_queue.shards - 1 loop
        exit when clock_timestamp() > v_now + interval '1 second';
        v_shard := (v_first + v_step) % v_queue.shards;
        v_messages := v_messages + queue.maintain_shard(p_queue_id, v_shard, v_before);
        if v_shard = any (v_old) then
            v_messages := v_messages + queue.purge_shard(p_queue_id, v_shard, v_before);
        end if;
    end loop;
    delete from queue.deferred d
    where d.queue_id = p_queue_id and not exists (      -- their messages were deleted, or are past their retention
        select from queue.lease x
        where x.queue_id = d.queue_id and x.shard = d.shard and x.pos = d.pos and x.ids <> '{}');
    v_messages := v_messages + queue.purge_side(p_queue_id, v_before);
    perform queue.update_in_flight_counting(p_queue_id, exists (select from queue.deferred d where d.queue_id = p_queue_id));
    return v_messages;
end $$;
