-- queue.move_log(queue, shards, limit, destination): moves messages that were sent to a dead-letter queue directly: it
-- receives them and ends their leases at once. They came from no other queue, so without a destination none can move.
-- Returns one row: messages moved, and why the messages could not move (as move_target).
-- Locks: advisory, readers of shards, without waiting (the setting queue.reads says that this transaction reads one).
create or replace function queue.move_log(
    p_queue_id int, p_shards int, p_limit int, p_destination text, out moved int, out failure text)
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_taken queue.received_row[];
begin
    moved := 0;
    if p_limit = 0 or not exists (select from queue.ready_shards(p_queue_id, p_shards, v_now)) then
        return;
    end if;
    failure := case when p_destination is null then 'CouldNotDetermineMessageSource'
        when not exists (select from queue.queues q where q.arn = p_destination)
            then 'AWS.SimpleQueueService.NonExistentQueue' end;
    if failure is not null then
        return;
    end if;
    perform set_config('queue.reads', 'on', true);
    v_taken := array(
        select t::queue.received_row from queue.take_log(p_queue_id, p_shards, p_limit, p_limit, interval '0', null, null, false) t);
    moved := cardinality(v_taken);
    if moved = 0 then
        return;
    end if;
    update queue.lease x            -- as if never received: no consumer got the messages
    set ids = '{}', done_at = v_now, outcome = 'moved', receive_count = x.receive_count - 1,
        first_received_at = case when x.receive_count > 1 then x.first_received_at end,
        redelivered_at = nullif(array_remove(x.redelivered_at, x.visible_at), '{}')     -- received for 0 seconds
    from (select distinct t.shard, t.pos from unnest(v_taken) t) taken
    where x.queue_id = p_queue_id and x.shard = taken.shard and x.pos = taken.pos;
    insert into queue.activity (queue_id, redelivered)     -- nor were they delivered again, as take_expired has counted
    select p_queue_id, -count(*) from unnest(v_taken) t where t.receive_count > 1 having count(*) > 0;
    perform queue.send_moved(array_fill(p_destination, array[moved]), v_taken);
end $$;
