-- queue.dead_letter(queue, shard, lease, arn): moves the messages of a lease to the dead-letter queue, where they keep
-- their MessageId, body and time of sending. Returns false, and moves nothing, when there is no standard queue of that
-- ARN.
-- The caller holds the lease's row. Called by: take_expired.
create or replace function queue.dead_letter(
    p_queue_id int, p_shard int, p_lease queue.lease, p_dead_letter_arn text) returns boolean
language plpgsql as $$
declare
    v_target int;
    v_rows int;
    v_now timestamptz := clock_timestamp();
begin
    select q.queue_id into v_target from queue.queues q where q.arn = p_dead_letter_arn and not q.fifo;
    if v_target is null then
        return false;
    end if;
    insert into queue.side
    select r.* from (
        select * from queue.log l
        where l.queue_id = p_queue_id and l.shard = p_shard and l.id = any (p_lease.ids)
            and l.id between p_lease.first_id and p_lease.pos     -- bounds the index scan; an array alone may not
        order by l.id) l
    cross join lateral jsonb_populate_record(null::queue.side, to_jsonb(l) || jsonb_build_object(
        'id', nextval('queue.side_id'), 'visible_at', v_now, 'queue_id', v_target, 'shard', -1, 'receive_count', 0,
        'system', queue.dead_letter_system(p_queue_id, l.system, p_lease.receive_count, p_lease.first_received_at))) r;
    get diagnostics v_rows = row_count;
    insert into queue.dead_letter_count (queue_id, messages) values (p_queue_id, v_rows);
    update queue.lease x
    set ids = '{}', done_at = v_now, outcome = 'dead_lettered'
    where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = p_lease.pos;
    perform queue.notify_watchers(v_target, p_dead_letter_arn);
    return true;
end $$;
