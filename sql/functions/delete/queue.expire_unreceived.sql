-- queue.expire_unreceived: deletes unreceived messages that were sent before p_sent_before, because they have expired.
-- Returns whether the function deleted a message. Deletes up to 100,000 messages at the head of the shard
-- (purge_shard). Also deletes expired messages among the next 200 messages, because expired messages can follow younger
-- messages after a clock went back. The caller holds the lock of the shard's reader.
create or replace function queue.expire_unreceived(p_queue_id int, p_shard int, p_sent_before timestamptz)
returns boolean
language plpgsql as $$
declare
    v_any boolean := false;
    v_rows bigint;
    v_ids bigint[];
    v_now timestamptz := clock_timestamp();
begin
    for v_step in 1 .. 10 loop
        v_rows := queue.purge_shard(p_queue_id, p_shard, p_sent_before);
        v_any := v_any or v_rows > 0;
        -- A call of purge_shard deletes at most 10,000 messages.
        exit when v_rows < 10000;
    end loop;
    v_ids := array(
        select n.id from (
            select l.id, l.sent_at from queue.log l
            where l.queue_id = p_queue_id and l.shard = p_shard and l.id > (
                select max(x.pos) from queue.lease x where x.queue_id = p_queue_id and x.shard = p_shard)
            order by l.id limit 200) n
        where n.sent_at < p_sent_before);
    if v_ids = '{}' or v_rows = 10000 then
        return v_any;
    end if;
    with gone as (
        delete from queue.log l
        where l.queue_id = p_queue_id and l.shard = p_shard and l.id = any (v_ids)
            and l.id between v_ids[1] and v_ids[cardinality(v_ids)]
        returning l.*),
    holes as (
        insert into queue.hole (queue_id, shard, id) select g.queue_id, g.shard, g.id from gone g)
    insert into queue.history
    select h.* from gone g
    cross join lateral queue.history_row(
        p_queue_id => p_queue_id, p_outcome => 'expired', p_system => g.system, p_receive_count => 0,
        p_first_received_at => null, p_redelivered_at => null, p_sent_at => g.sent_at, p_entered_at => null,
        p_finished_at => v_now) h
    where (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id);
    perform queue.count_expired(p_queue_id, cardinality(v_ids));
    return true;
end $$;
