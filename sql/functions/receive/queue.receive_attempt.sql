-- queue.receive_attempt: receives messages under a ReceiveRequestAttemptId. If a client retries a receive from a FIFO
-- queue with the same id within five minutes, the client receives the same messages under the same handles
-- (repeat_receive). For a standard queue, the id has no effect. The parameters are those of receive_response. Does not
-- measure a retry's messages. `error` can also be ReceiveAttemptOver, if the messages have changed. Locks the attempt
-- until the end of the transaction, then takes the locks of repeat_receive and receive_messages. Raises QU004 (not
-- under READ COMMITTED).
-- This file also contains repeat_receive.
create or replace function queue.receive_attempt(
    p_queue text, p_max int, p_visibility_seconds int, p_in_flight_limit int, p_attempt_id text,
    p_response_bytes int, p_response_format text)
returns setof queue.received_row
language plpgsql as $$
declare
    v_queue record;
    v_rows queue.received_row[];
begin
    perform queue.require_read_committed();
    select q.queue_id, q.wait_seconds, q.visibility_timeout_seconds, q.retention_seconds into v_queue
    from queue.queues q where q.arn = p_queue and q.fifo;
    if v_queue.queue_id is not null then
        perform pg_advisory_xact_lock(queue.lock_key(3, v_queue.queue_id, hashtext(p_attempt_id) & 255));
        return query select * from queue.repeat_receive(v_queue.queue_id, p_attempt_id,
            coalesce(p_visibility_seconds, v_queue.visibility_timeout_seconds) * interval '1 second',
            v_queue.wait_seconds, clock_timestamp() - v_queue.retention_seconds * interval '1 second');
        if found then
            return;
        end if;
    end if;
    v_rows := array(
        select r from queue.receive_response(
            p_queue => p_queue, p_max => p_max, p_lease_size => greatest(p_max, 10),
            p_visibility_seconds => p_visibility_seconds, p_in_flight_limit => p_in_flight_limit,
            p_async_commit => false, p_response_bytes => p_response_bytes,
            p_response_format => p_response_format) r);
    return query select * from unnest(v_rows);
    insert into queue.receive_attempt as a (queue_id, attempt_id, visible_at, ids, receive_counts)
    select v_queue.queue_id, p_attempt_id, max(m.visible_at), array_agg(m.id order by u.n),
        array_agg(m.receive_count order by u.n)
    from (select r.id, row_number() over () as n from unnest(v_rows) r) u
    -- Without this condition, the planner can choose a plan that reads all messages.
    cross join lateral (select * from queue.fifo_message m where m.id = u.id limit 1) m
    where v_queue.queue_id is not null
    having count(*) > 0
    on conflict (queue_id, attempt_id) do update
        set received_at = excluded.received_at, visible_at = excluded.visible_at, ids = excluded.ids,
            receive_counts = excluded.receive_counts;
end $$;

-- queue.repeat_receive: repeats a receive from a FIFO queue by its ReceiveRequestAttemptId. If all messages of the
-- receive are invisible and unchanged, the client receives the messages again under the same handles. Their visibility
-- timeout starts again. The five minutes count from the first receive. `error` is ReceiveAttemptOver if a message was
-- deleted, was received again, has expired (was sent before p_sent_before), or has another visibility. Returns no row
-- if no receive had this id in the last five minutes. Also returns no row if that receive's timeout is over and the
-- messages are unchanged. The caller holds the attempt's advisory lock. Locks the groups' rows. Uses the indexes
-- receive_attempt_pkey and fifo_message_pkey.
create or replace function queue.repeat_receive(
    p_queue_id int, p_attempt_id text, p_visibility interval, p_wait_seconds int, p_sent_before timestamptz)
returns setof queue.received_row
language plpgsql as $$
declare
    v_attempt queue.receive_attempt;
    v_header queue.received_row;
    v_now timestamptz;
    v_rows tid[];
    v_group bigint;
begin
    select * into v_attempt from queue.receive_attempt a
    where a.queue_id = p_queue_id and a.attempt_id = p_attempt_id
        and a.received_at > (select clock_timestamp()) - interval '5 minutes';
    if not found then
        return;
    end if;
    perform queue.lock_groups_of_messages(v_attempt.ids);
    v_now := clock_timestamp();
    -- Each id needs a separate look-up, because for `= any (…)` the planner can choose a scan of all messages.
    v_rows := array(
        select (select m.ctid from queue.fifo_message m
                where m.id = u.id and m.queue_id = p_queue_id and m.receive_count = u.receive_count
                    and m.visible_at = v_attempt.visible_at and m.sent_at >= p_sent_before)
        from unnest(v_attempt.ids, v_attempt.receive_counts) u(id, receive_count));
    v_header.wait_seconds := p_wait_seconds;
    if array_position(v_rows, null) is not null then
        v_header.error := 'ReceiveAttemptOver';
        return next v_header;
        return;
    elsif v_attempt.visible_at <= v_now then
        return;
    end if;
    update queue.receive_attempt a set visible_at = v_now + p_visibility
    where a.queue_id = p_queue_id and a.attempt_id = p_attempt_id;
    return next v_header;
    return query
    with again as (
        update queue.fifo_message m set visible_at = v_now + p_visibility where m.ctid = any (v_rows) returning m.*)
    select d.* from again a cross join lateral queue.build_received_row(p_fifo => a::queue.fifo_message) d
    order by array_position(v_attempt.ids, a.id);
    for v_group in
        select distinct (
            select m.group_key from queue.fifo_message m where m.id = u.id)
        from unnest(v_attempt.ids) u(id)
    loop
        perform queue.update_groups(array[v_group]);
    end loop;
end $$;
