-- queue.receive_response: receives messages as receive_messages does, within the size limit of a response. All messages
-- for one receiver together fit into p_response_bytes. Null means no limit. Other messages stay visible, and their
-- receive counts do not change. `p_response_format` is a format of response_bytes. For json and xml, a single message
-- can have any length. For other formats, the function skips a message that is too long (pass_over) and receives
-- other messages. In a FIFO queue, these messages come from other groups. `error` can also be ResponseTooLarge, if the
-- function skips every receivable message (passes_over_all). Returns no row and no error if the function cannot
-- be certain of that, or if the call had to measure many messages. Measuring and moving a MiB takes up to 100 ms. A
-- call measures for two seconds at most, and the next call continues. PostgreSQL undoes a call that takes longer than
-- QUEUE_DATABASE_CALL_TIMEOUT_MS, and a repetition of that call would start again. Measures received messages only if
-- escapes could make them too long. If the function has received too many messages, it undoes the receive in a
-- subtransaction, which also releases the locks, and receives fewer. Takes the locks of receive_messages and pass_over.
-- Raises QU004 (not under READ COMMITTED).
-- This file also contains stored_bytes, passes_over_all and pass_over.
create or replace function queue.receive_response(
    p_queue text, p_max int, p_lease_size int, p_visibility_seconds int, p_in_flight_limit int, p_async_commit boolean,
    p_response_bytes int, p_response_format text)
returns setof queue.received_row
language plpgsql as $$
declare
    v_any boolean := p_response_format in ('json', 'xml');
    -- This is the greatest growth of a text through escapes, without control characters, which no interface accepts.
    v_growth int := case p_response_format when 'json' then 2 when 'xml' then 6 else 7 end;
    v_max int := p_max;
    v_rows queue.received_row[];
    v_row queue.received_row;
    v_count int;
    v_sizes int[];
    v_bytes bigint;
    v_fitting int;
    v_noted boolean;
    v_until timestamptz := clock_timestamp() + interval '2 seconds';
begin
    if p_response_bytes is null then
        return query select * from queue.receive_messages(
            p_queue => p_queue, p_max => p_max, p_lease_size => p_lease_size,
            p_visibility_seconds => p_visibility_seconds, p_in_flight_limit => p_in_flight_limit,
            p_async_commit => p_async_commit);
        return;
    end if;
    for v_step in 1 .. 20 loop      -- Each step receives messages, requests fewer messages, or passes messages over.
        begin
            -- Receive
            v_rows := array(
                select r::queue.received_row from queue.receive_messages(
                    p_queue => p_queue, p_max => v_max, p_lease_size => p_lease_size,
                    p_visibility_seconds => p_visibility_seconds, p_in_flight_limit => p_in_flight_limit,
                    p_async_commit => p_async_commit,
                    p_response_bytes => case when not v_any then p_response_bytes end,
                    p_response_format => p_response_format) r);
            -- Measure the messages if escapes could make them too long
            v_count := cardinality(v_rows) - 1;
            v_fitting := v_count;
            -- The estimate adds 2,000 bytes to each message for the text around body and attributes.
            if (select sum(2000 + v_growth * queue.stored_bytes(m)::bigint) > p_response_bytes
                    from unnest(v_rows[2:]) m) then
                v_fitting := 0;
                v_bytes := 0;       -- This is the size of the last p_lease_size messages, the maximum for one receiver.
                v_sizes := '{}';
                foreach v_row in array v_rows[2:] loop
                    v_sizes := v_sizes || queue.response_bytes(v_row, p_response_format);
                    v_bytes := v_bytes + v_sizes[v_fitting + 1] - coalesce(v_sizes[v_fitting + 1 - p_lease_size], 0);
                    exit when v_bytes > p_response_bytes and (not v_any or v_fitting > 0);
                    v_fitting := v_fitting + 1;
                end loop;
            end if;
            if v_fitting = v_count then
                if not v_any and v_count = 0 and v_rows[1].error is null
                    and queue.passes_over_all(p_queue, p_response_bytes, p_response_format)
                then
                    v_rows[1].error := 'ResponseTooLarge';
                end if;
                return query select * from unnest(v_rows);
                return;
            end if;
            raise exception 'the messages are too long for one response' using errcode = 'QU010';
        exception when sqlstate 'QU010' then null;
        end;
        -- The receive is undone: request fewer messages
        if v_fitting > 0 then
            v_max := v_fitting;
            continue;
        end if;
        -- Skip messages that are too long on their own
        v_noted := false;
        foreach v_row in array v_rows[2:] loop
            exit when v_noted and clock_timestamp() > v_until;
            v_bytes := queue.response_bytes(v_row, p_response_format);
            if v_bytes > p_response_bytes and queue.pass_over(p_queue, v_row, p_response_format, v_bytes::int) then
                v_noted := true;
            end if;
        end loop;
        exit when not v_noted       -- Another transaction has locked the next message.
            or clock_timestamp() > v_until;
        v_max := p_max;
    end loop;
    return query select * from unnest(v_rows[:1]);
end $$;

-- queue.stored_bytes: returns the size of body and attributes before escaping.
create or replace function queue.stored_bytes(p_message queue.received_row) returns int
language sql immutable parallel safe as $$
select octet_length(p_message.body) + coalesce(octet_length(p_message.attributes), 0)
    + coalesce(octet_length(p_message.system), 0)
$$;

-- queue.passes_over_all: returns whether all receivable messages of a queue are too long for a response. The caller has
-- just received no message. Returns false if another transaction can have other messages. Messages of a locked shard or
-- group become receivable again if that transaction fails. For a FIFO queue, searches only if take_groups has set
-- queue.passed_over, because dead entries of the index make the search long. Uses the indexes side_visible_at and
-- fifo_ready_visible_at, and the indexes of ready_shards and group_head.
create or replace function queue.passes_over_all(p_arn text, p_response_bytes int, p_response_format text)
returns boolean
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_queue record;
    v_all boolean;
begin
    select q.queue_id, q.fifo, q.shards into v_queue from queue.queues q where q.arn = p_arn;
    if v_queue.fifo then
        select bool_and(not h.fits) into v_all
        from queue.fifo_ready r
        cross join lateral queue.group_head(r.group_key, r.first_id, p_response_bytes, p_response_format) h
        where current_setting('queue.passed_over', true) = 'on'
            and queue.fifo_key(r.queue_id) = queue.fifo_key(v_queue.queue_id) and r.visible_at <= v_now
            and h.visible_at <= v_now;
    else
        select bool_and(not queue.fits(s.response_bytes, p_response_bytes, p_response_format)) into v_all
        from queue.side s
        where queue.side_key(s.queue_id) = queue.side_key(v_queue.queue_id) and s.visible_at <= v_now;
        v_all := v_all and not exists (select from queue.ready_shards(v_queue.queue_id, v_queue.shards, v_now))
            and not exists (select from queue.deferred d where d.queue_id = v_queue.queue_id);
    end if;
    return coalesce(v_all, false);
end $$;

-- queue.pass_over: records the size of a visible message in responses of a format. receive_messages then leaves the
-- message for receives with a larger limit. The message stays visible, and its receive count does not change. A
-- message of the log moves to the side table (queue.side). `p_message` is the message as the undone receive returned
-- it. Another receive can have received the message in the meantime, because the undone receive has released its
-- locks. Returns false, and records nothing, if the message's state has changed, or if another transaction has
-- locked the message, its lease, group or shard. Locks the shard's reader and then the lease's row, or the row of
-- the group or of the message, without waiting.
create or replace function queue.pass_over(p_arn text, p_message queue.received_row, p_format text, p_bytes int)
returns boolean
language plpgsql as $$
declare
    v_bytes jsonb := jsonb_build_object(p_format, p_bytes);
    v_count int := p_message.receive_count - 1;
    v_pos bigint;
    v_moved boolean;
begin
    if p_message.shard = queue.fifo_shard() then
        perform from queue.fifo_group g
        where g.group_key = (select m.group_key from queue.fifo_message m where m.id = p_message.id)
        for update skip locked;
        if found then
            update queue.fifo_message m set response_bytes = coalesce(m.response_bytes, '{}') || v_bytes
            where m.id = p_message.id and m.receive_count = v_count and m.visible_at <= clock_timestamp();
        end if;
        return found;
    end if;
    if p_message.pos > 0 then       -- The message was in the log.
        if not pg_try_advisory_xact_lock(queue.lock_key(1, p_message.queue_id, p_message.shard)) then
            return false;
        end if;
        -- The lease has ended, or is a lease of take_fair without a receiver (with a receive count of 0).
        select x.pos into v_pos from queue.lease x
        where x.queue_id = p_message.queue_id and x.shard = p_message.shard and x.pos >= p_message.id
            and p_message.id = any (x.ids) and x.receive_count = v_count
        order by x.pos limit 1 for update skip locked;
        v_moved := case when v_pos is not null
            then queue.unlease_messages(p_message.queue_id, p_message.shard, v_pos, v_count, array[p_message.id],
                clock_timestamp())
            else v_count = 0 and queue.take_unreceived(p_message.queue_id, p_message.shard, p_message.id,
                clock_timestamp(), false, false) end;
        if v_moved then
            perform queue.notify_watchers(p_message.queue_id, p_arn);
        end if;
    end if;
    update queue.side s set response_bytes = coalesce(s.response_bytes, '{}') || v_bytes
    where s.ctid = (
        select m.ctid from queue.side m
        where m.queue_id = p_message.queue_id and m.shard = p_message.shard and m.id = p_message.id
            and m.receive_count = v_count and m.visible_at <= clock_timestamp()
        for update skip locked);
    return found;
end $$;
