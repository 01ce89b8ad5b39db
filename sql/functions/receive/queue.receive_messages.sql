-- queue.receive_messages: hands out up to p_max messages of a queue and hides them from other receivers.
-- Parameters: the queue's ARN; p_lease_size: the greatest number of messages that share a lease (they expire together;
--   each is acknowledged on its own); in a FIFO queue the number of rows for one receiver, after which the rows for the
--   next receiver begin, with messages of other groups; p_visibility_seconds 0-43200, null: the queue's own;
--   p_in_flight_limit: about how many messages may be in flight, null: any number. p_async_commit: the commit of a
--   receive from a standard queue does not wait for the disk: if the server crashes at once, the messages are received
--   again. Only for a transaction that does nothing else. p_attempt_id: a ReceiveRequestAttemptId (receive_attempt).
--   p_answer_bytes, p_answer_format: messages that are known to be too long for such an answer are passed over (pass_over).
--   p_refuse_over: a message of more bytes among those handed out (12,000 or more) raises QU010, which undoes the receive;
--   the caller then calls receive_answer.
-- Returns: a header row (error: QueueDoesNotExist, OverLimit; wait_seconds), then the messages; none of a paused queue. Locks: reader of a
--   shard, or rows of the slow path or of FIFO groups (skipped when locked). Use it in a short transaction of its own.
-- Raises QU004 (not under READ COMMITTED), QU010.
create or replace function queue.receive_messages(
    p_queue text, p_max int, p_lease_size int, p_visibility_seconds int, p_in_flight_limit int, p_async_commit boolean,
    p_attempt_id text, p_refuse_over int default null, p_answer_bytes int default null,
    p_answer_format text default null)
returns setof queue.received_row
language plpgsql as $$
declare
    v_queue record;
    v_header queue.received_row;
    v_want int := p_max;
    v_asked int;
    v_visibility interval;
    v_rows int;
    v_full boolean := false;
    v_now timestamptz := clock_timestamp();
begin
    if p_attempt_id is not null then
        return query select * from queue.receive_attempt(p_queue, p_max, p_visibility_seconds, p_in_flight_limit,
            p_attempt_id, p_answer_bytes, p_answer_format);
        return;
    end if;
    perform queue.require_read_committed();
    select q.queue_id, q.fifo, q.shards, q.wait_seconds, q.visibility_timeout_seconds, q.max_receive_count,
        q.dead_letter_arn, q.counts_in_flight, q.paused
    into v_queue from queue.queues q where q.arn = p_queue;
    if v_queue.counts_in_flight or p_in_flight_limit < 100000 then
        v_want := queue.in_flight_capacity(v_queue.queue_id, p_max, p_in_flight_limit);
        v_full := v_want = 0 and p_max > 0;
    end if;
    v_header.wait_seconds := v_queue.wait_seconds;
    v_header.error := case when v_queue.queue_id is null then 'QueueDoesNotExist'
        when v_full then 'OverLimit' end;
    return next v_header;
    if v_queue.queue_id is null or v_full or v_queue.paused then
        return;
    end if;
    v_visibility := coalesce(p_visibility_seconds, v_queue.visibility_timeout_seconds) * interval '1 second';
    if v_queue.fifo then
        return query select * from queue.take_groups(v_queue.queue_id, v_want,
            greatest(p_lease_size, 1), v_visibility, v_queue.max_receive_count, v_queue.dead_letter_arn,
            p_answer_bytes, p_answer_format);
        get diagnostics v_rows = row_count;
        if v_rows > 0 then
            insert into queue.activity (queue_id, received) values (v_queue.queue_id, v_rows);
        end if;
        if p_refuse_over is not null and queue.longest_message() > p_refuse_over then
            perform queue.refuse_long_messages();
        end if;
        return;
    end if;
    v_asked := v_want;
    if p_async_commit then
        set local synchronous_commit = off;
    end if;
    -- One receive of ten begins with tenants that have been skipped for 10 seconds. With a visibility timeout of 0 it
    -- would see their messages again, so they come last, as usual.
    if random() < 0.1 and v_visibility > interval '0' and exists (
        select from queue.deferred d
        where d.queue_id = v_queue.queue_id and d.deferred_at < v_now - interval '10 seconds')
    then
        return query select * from queue.take_deferred(v_queue.queue_id, v_want, p_lease_size, v_now,
            v_visibility);
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
    end if;
    if v_want > 0 and exists (
        select from queue.side s
        where queue.time_key(s.queue_id, -1) = queue.time_key(v_queue.queue_id, -1) and s.visible_at <= v_now)
    then
        return query select * from queue.take_side(v_queue.queue_id, v_want, v_now, v_visibility,
            v_queue.max_receive_count, v_queue.dead_letter_arn, p_answer_bytes, p_answer_format);
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
    end if;
    if v_want > 0 then
        return query select * from queue.take_log(v_queue.queue_id, v_queue.shards, v_want, p_lease_size,
            v_visibility, v_queue.max_receive_count, v_queue.dead_letter_arn);
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
    end if;
    if v_want > 0 and exists (select from queue.deferred d where d.queue_id = v_queue.queue_id) then
        return query select * from queue.take_deferred(v_queue.queue_id, v_want, p_lease_size, v_now,
            v_visibility);
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
    end if;
    if v_want < v_asked then
        insert into queue.activity (queue_id, received) values (v_queue.queue_id, v_asked - v_want);
    end if;
    if p_refuse_over is not null and queue.longest_message() > p_refuse_over then
        perform queue.refuse_long_messages();
    end if;
end $$;
