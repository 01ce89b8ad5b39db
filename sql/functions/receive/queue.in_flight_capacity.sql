-- queue.in_flight_capacity(queue, want, limit): how many of p_want messages may be handed out when at most p_limit
-- (null: any number) are in flight; 0: the limit is reached.
-- Counting 120,000 messages takes 2 ms in the log, 50 ms in the slow path, 130 ms in FIFO groups. So a count is reused
-- for a while: until the capacity that it left could be used up at 50,000 messages a second, and at least four times as
-- long as counting took. With a limit below 100,000 the messages are counted each time.
-- Locks: advisory, the queue's count, not waited for: a receiver that does not get the lock does not store its count.
create or replace function queue.in_flight_capacity(p_queue_id int, p_want int, p_limit int) returns int
language plpgsql as $$
declare
    v_began timestamptz := clock_timestamp();
    v_queue record;
    v_messages bigint;
    v_seconds double precision;
begin
    select q.fifo, q.shards, f.messages, f.good_until into v_queue
    from queue.queues q left join queue.in_flight f on f.queue_id = q.queue_id where q.queue_id = p_queue_id;
    if p_limit is null then
        return p_want;
    elsif p_limit >= 100000 and v_queue.good_until between v_began and v_began + interval '1 minute' then
        return greatest(least(p_want, p_limit - v_queue.messages), 0);
    end if;
    v_messages := queue.count_in_flight(p_queue_id, v_queue.fifo, v_queue.shards);
    if p_limit >= 100000 and pg_try_advisory_xact_lock(queue.lock_key(2, p_queue_id, 0)) then
        v_seconds := greatest((p_limit - v_messages) / 50000.0,
            4 * date_part('epoch', clock_timestamp() - v_began));
        insert into queue.in_flight as f (queue_id, messages, good_until)
        values (p_queue_id, v_messages, clock_timestamp() + v_seconds * interval '1 second')
        on conflict (queue_id) do update set messages = excluded.messages, good_until = excluded.good_until;
    end if;
    return greatest(least(p_want, p_limit - v_messages), 0);
end $$;
