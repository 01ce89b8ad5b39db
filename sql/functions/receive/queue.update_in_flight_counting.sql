-- queue.update_in_flight_counting(queue, suspected): whether receives count the queue's messages in flight from now on: there are
-- more than 20,000, long before the limit. Counts when it does already, or p_suspected, or by the size of tables: FIFO
-- queues and the slow lane cannot have so many while theirs are small, since a row has 100 bytes at least.
-- Locks: the queue's row, to the end of the transaction, skipped when locked. The caller may not wait for a lock any
-- more after this, or two of them could wait for each other. Called by: clean_shard, maintain_queue.
drop function if exists queue.watch_in_flight(int, boolean);
create or replace function queue.update_in_flight_counting(p_queue_id int, p_suspected boolean default false) returns void
language plpgsql as $$
declare
    v_queue record;
    v_many boolean;
begin
    select q.fifo, q.shards, q.counts_in_flight into v_queue from queue.queues q where q.queue_id = p_queue_id;
    if p_suspected or v_queue.counts_in_flight or 2000000 < pg_relation_size(
        case when v_queue.fifo then 'queue.fifo_message'::regclass else 'queue.side'::regclass end)
    then
        v_many := queue.count_in_flight(p_queue_id, v_queue.fifo, v_queue.shards) > 20000;
    end if;
    if v_many <> v_queue.counts_in_flight then
        perform from queue.queues q where q.queue_id = p_queue_id for no key update skip locked;
        if found then
            update queue.queues q set counts_in_flight = v_many where q.queue_id = p_queue_id;
        end if;
    end if;
end $$;
