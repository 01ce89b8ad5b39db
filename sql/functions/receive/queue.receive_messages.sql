-- queue.receive_messages: receives up to p_max messages of a queue and hides them from other receivers.
--   `p_queue` is the queue's ARN.
--   `p_lease_size` is the maximum number of messages in a lease. A lease's messages expire together, but a client
--     acknowledges each separately. For a FIFO queue, `p_lease_size` is the number of rows for one receiver, and the
--     next rows have other groups.
--   `p_visibility_seconds` is 0 to 43200, or null for the queue's visibility timeout.
--   `p_in_flight_limit` is the approximate limit of messages in flight, or null for no limit.
--   `p_async_commit` is true if the commit of a receive from a standard queue does not wait for the disk. After a
--     crash, consumers receive the messages again. The transaction must do nothing else.
--   `p_refuse_over` is a number of bytes, at least 12,000. A longer received message raises QU010, which undoes the
--     receive. The caller then calls receive_response.
--   `p_response_bytes` and `p_response_format` describe a response. The receive skips messages that are known to
--     be too long for this response (pass_over).
-- Does not return messages whose retention is over. If the function finds an expired message, it deletes the queue's
-- expired messages, as maintain_queue does. Returns a header row, then the messages. A paused queue returns no
-- messages.
--   `error` is QueueDoesNotExist or OverLimit.
--   `wait_seconds` is the queue's ReceiveMessageWaitTimeSeconds.
--   `system` is `traced` if the caller must record the received messages (trace_receive).
-- Locks the reader of a shard, and rows of the side table or of FIFO groups. Skips locked rows. A call needs a short
-- transaction without other statements. Raises QU004 (not under READ COMMITTED) and QU010.
-- The body is long, because a call of another function would cost every receive. Its parts are numbered.
-- This file also contains in_flight_capacity, refuse_long_messages, take_deferred and take_side.
create or replace function queue.receive_messages(
    p_queue text, p_max int, p_lease_size int, p_visibility_seconds int, p_in_flight_limit int, p_async_commit boolean,
    p_refuse_over int default null, p_response_bytes int default null, p_response_format text default null)
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
    -- A tenth of the receives begin with deferred messages.
    c_deferred_first constant double precision := 0.1;
begin
    -- 1. Read the queue, compute how many messages may be returned, and return the header.
    perform queue.require_read_committed();
    select q.queue_id, q.fifo, q.shards, q.wait_seconds, q.visibility_timeout_seconds, q.max_receive_count,
        q.dead_letter_arn, q.counts_in_flight, q.paused, q.traces,
        -- The retention of messages that were sent before this time is over.
        v_now - q.retention_seconds * interval '1 second' as sent_before
    into v_queue from queue.queues q where q.arn = p_queue;
    -- A queue can reach a limit below 100,000 before maintenance sets counts_in_flight.
    if v_queue.counts_in_flight or p_in_flight_limit < 100000 then
        v_want := queue.in_flight_capacity(v_queue.queue_id, p_max, p_in_flight_limit);
        v_full := v_want = 0 and p_max > 0;
    end if;
    v_header.wait_seconds := v_queue.wait_seconds;
    v_header.error := case when v_queue.queue_id is null then 'QueueDoesNotExist'
        when v_full then 'OverLimit' end;
    if v_queue.traces then
        v_header.system := 'traced';
    end if;
    return next v_header;
    if v_queue.queue_id is null or v_full or v_queue.paused then
        return;
    end if;
    v_visibility := coalesce(p_visibility_seconds, v_queue.visibility_timeout_seconds) * interval '1 second';
    -- 2. Take messages of a FIFO queue.
    if v_queue.fifo then
        return query select * from queue.take_groups(
            p_queue_id => v_queue.queue_id, p_max => v_want, p_share => greatest(p_lease_size, 1),
            p_visibility => v_visibility, p_max_receive_count => v_queue.max_receive_count,
            p_dead_letter_arn => v_queue.dead_letter_arn, p_sent_before => v_queue.sent_before,
            p_response_bytes => p_response_bytes, p_response_format => p_response_format);
        get diagnostics v_rows = row_count;
        if v_rows > 0 then
            insert into queue.activity (queue_id, received) values (v_queue.queue_id, v_rows);
        end if;
        if p_refuse_over is not null and queue.longest_message() > p_refuse_over then
            perform queue.refuse_long_messages();
        end if;
        return;
    end if;
    -- 3. Take messages of a standard queue in this order: sometimes the oldest deferred messages, then the side table,
    -- the log, and the other deferred messages.
    v_asked := v_want;
    if p_async_commit then
        set local synchronous_commit = off;
    end if;
    -- Receives usually return deferred messages last. If other groups always have messages, deferred messages would
    -- wait forever. Some receives therefore begin with messages that were deferred 10 seconds ago. A counter would need
    -- a row, which all receives would update, so the choice is random. A receive with a visibility timeout of 0 would
    -- return deferred messages again and again. This receive therefore returns deferred messages last.
    if random() < c_deferred_first and v_visibility > interval '0' and exists (
        select from queue.deferred d
        where d.queue_id = v_queue.queue_id and d.deferred_at < v_now - interval '10 seconds')
    then
        return query select * from queue.take_deferred(v_queue.queue_id, v_want, p_lease_size, v_now,
            v_visibility, v_queue.sent_before);
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
    end if;
    if v_want > 0 and exists (
        select from queue.side s
        where queue.side_key(s.queue_id) = queue.side_key(v_queue.queue_id) and s.visible_at <= v_now)
    then
        return query select * from queue.take_side(
            p_queue_id => v_queue.queue_id, p_max => v_want, p_now => v_now, p_visibility => v_visibility,
            p_max_receive_count => v_queue.max_receive_count, p_dead_letter_arn => v_queue.dead_letter_arn,
            p_sent_before => v_queue.sent_before, p_response_bytes => p_response_bytes,
            p_response_format => p_response_format);
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
    end if;
    if v_want > 0 then
        return query select * from queue.take_log(
            p_queue_id => v_queue.queue_id, p_shards => v_queue.shards, p_max => v_want, p_lease_size => p_lease_size,
            p_visibility => v_visibility, p_max_receive_count => v_queue.max_receive_count,
            p_dead_letter_arn => v_queue.dead_letter_arn, p_sent_before => v_queue.sent_before);
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
    end if;
    if v_want > 0 and exists (select from queue.deferred d where d.queue_id = v_queue.queue_id) then
        return query select * from queue.take_deferred(v_queue.queue_id, v_want, p_lease_size, v_now,
            v_visibility, v_queue.sent_before);
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
    end if;
    -- 4. Count the messages.
    if v_want < v_asked then
        insert into queue.activity (queue_id, received) values (v_queue.queue_id, v_asked - v_want);
    end if;
    if p_refuse_over is not null and queue.longest_message() > p_refuse_over then
        perform queue.refuse_long_messages();
    end if;
end $$;

-- queue.in_flight_capacity: returns how many of p_want messages a receive may return. At most p_limit messages can be
-- in flight, and null means no limit. The result is 0 if the limit is reached. A count of 120,000 messages takes 2 ms
-- in the log, 50 ms in the side table and 130 ms in FIFO groups. Uses a stored count until 50,000 messages per second
-- could use up the remaining capacity, and at least four times as long as the count took. If the limit is below
-- 100,000, each call counts the messages. Tries to lock the queue's count without waiting. A receiver that does not
-- obtain the lock does not store the count.
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
    -- Only a limit of 100,000 or more can use a stored count.
    elsif p_limit >= 100000 and v_queue.good_until between v_began and v_began + interval '1 minute' then
        return greatest(least(p_want, p_limit - v_queue.messages), 0);
    end if;
    v_messages := queue.count_in_flight(p_queue_id, v_queue.fifo, v_queue.shards);
    if p_limit >= 100000 and pg_try_advisory_xact_lock(queue.lock_key(2, p_queue_id, 0)) then
        -- The count is good until receives of 50,000 messages per second could reach the limit.
        v_seconds := greatest((p_limit - v_messages) / 50000.0,
            4 * date_part('epoch', clock_timestamp() - v_began));
        insert into queue.in_flight as f (queue_id, messages, good_until)
        values (p_queue_id, v_messages, clock_timestamp() + v_seconds * interval '1 second')
        on conflict (queue_id) do update set messages = excluded.messages, good_until = excluded.good_until;
    end if;
    return greatest(least(p_want, p_limit - v_messages), 0);
end $$;

-- queue.refuse_long_messages: raises QU010, which undoes a receive because a message is so long that the response has
-- to be measured.
create or replace function queue.refuse_long_messages() returns void
language plpgsql as $$
begin
    raise exception 'a message is so long that the response has to be measured: queue.receive_response does so'
        using errcode = 'QU010';
end $$;

-- queue.take_deferred: receives deferred messages of noisy groups, group by group. The group with the fewest messages
-- in flight comes first (SQS Developer Guide, "How Amazon SQS fair queues work"). Returns the messages of a lease that
-- take_fair made without a receiver, or the first of these messages. Skips a shard with another reader. Waits for
-- another reader, as take_log does, only while this transaction holds no lock that a reader could wait for. The
-- messages' time is later than p_begun, even if the clock goes back (take_side). Locks readers of the shards, then rows
-- of leases, and skips locked rows. Uses the indexes deferred_pkey and lease_pkey.
create or replace function queue.take_deferred(
    p_queue_id int, p_max int, p_lease_size int, p_begun timestamptz, p_visibility interval, p_sent_before timestamptz)
returns setof queue.received_row
language plpgsql as $$
declare
    v_now timestamptz := greatest(clock_timestamp(), p_begun + interval '1 microsecond');
    v_want int := p_max;
    v_noisy text[] := (select n.noisy from queue.noisy_neighbors n where n.queue_id = p_queue_id);
    v_group text;
    v_deferred record;
    v_lease queue.lease;
    v_key bigint;
    v_at timestamptz;       -- This time is above the shard's watermark.
    v_rows int;
begin
    for v_group in
        select g.group_id from queue.deferred_groups(p_queue_id) g
        order by array_position(v_noisy, g.group_id) nulls first, g.group_id
    loop
        for v_deferred in
            select d.deferred_at, d.shard, d.pos from queue.deferred d
            where d.queue_id = p_queue_id and d.group_id = v_group
            -- A round of the loop tries at most 200 leases of a group.
            order by d.deferred_at, d.shard, d.pos limit least(v_want, 200)
        loop
            exit when v_want <= 0;
            v_key := queue.lock_key(1, p_queue_id, v_deferred.shard);
            if not pg_try_advisory_xact_lock(v_key) then
                continue when v_want < p_max or pg_current_xact_id_if_assigned() is not null
                    or current_setting('queue.reads', true) = 'on' or not queue.lock_reader_briefly(v_key);
            end if;
            perform set_config('queue.reads', 'on', true);
            select greatest(v_now, c.watermark + interval '1 microsecond') into v_at from queue.lease c
            where c.queue_id = p_queue_id and c.shard = v_deferred.shard order by c.pos desc limit 1;
            select x.* into v_lease from queue.lease x
            where x.queue_id = p_queue_id and x.shard = v_deferred.shard and x.pos = v_deferred.pos
                and x.visible_at = 'infinity' and x.ids <> '{}'
            for update skip locked;
            -- If the query finds no row, another transaction has received, deleted or purged the lease's messages, or a
            -- consumer that acknowledges messages has locked the lease.
            if found then
                v_lease := queue.expire_leased(v_lease, p_sent_before);
            end if;
            if v_lease.ids <> '{}' then
                return query select * from queue.lease_again(v_lease, v_want, p_lease_size, v_at, p_visibility);
                get diagnostics v_rows = row_count;
                v_want := v_want - v_rows;
            end if;
            delete from queue.deferred d
            where d.queue_id = p_queue_id and d.group_id = v_group and d.deferred_at = v_deferred.deferred_at
                and d.shard = v_deferred.shard and d.pos = v_deferred.pos
                and not exists (
                    select from queue.lease x
                    where x.queue_id = p_queue_id and x.shard = v_deferred.shard and x.pos = v_deferred.pos
                        and x.visible_at = 'infinity' and x.ids <> '{}');
        end loop;
    end loop;
end $$;

-- queue.take_side: receives messages from the side table (queue.side). If the dead-letter queue exists, messages that
-- were received p_max_receive_count times move there. Examines the first p_max + 100 visible messages, so that few
-- remain for the next receive.
--   `p_now` is the time at which the receive began. Messages that this receive has returned with a timeout of 0 became
--     visible later, so the function does not see them.
--   `p_sent_before` is the time before which sent messages are past their retention. If an expired message comes first,
--     the function ends all expired messages.
--   `p_response_bytes` and `p_response_format` have the same meaning as in receive_messages.
-- Skips locked messages. Uses the index side_visible_at.
create or replace function queue.take_side(
    p_queue_id int, p_max int, p_now timestamptz, p_visibility interval, p_max_receive_count int,
    p_dead_letter_arn text, p_sent_before timestamptz, p_response_bytes int, p_response_format text)
returns setof queue.received_row
language plpgsql as $$
declare
    v_target int;
    v_rows int;
begin
    if p_max_receive_count is not null then
        select q.queue_id into v_target from queue.queues q where q.arn = p_dead_letter_arn and not q.fifo;
    end if;
    -- Expired messages
    if p_sent_before > (
        select s.sent_at from queue.side s
        where queue.side_key(s.queue_id) = queue.side_key(p_queue_id) and s.visible_at <= p_now
        order by s.visible_at limit 1)
    then
        perform queue.purge_side(p_queue_id, p_sent_before);
    end if;
    if v_target is not null then
        -- Messages that were received too often move to the dead-letter queue
        with moved as (
            delete from queue.side s
            where s.ctid = any (array(
                select due.ctid from (
                    select r.ctid, r.receive_count from queue.side r
                    where queue.side_key(r.queue_id) = queue.side_key(p_queue_id) and r.visible_at <= p_now
                        and r.sent_at >= p_sent_before
                        and (queue.fits(r.response_bytes, p_response_bytes, p_response_format)
                            or r.receive_count >= p_max_receive_count)
                    order by r.visible_at, r.id limit p_max + 100 for update skip locked) due
                where due.receive_count >= p_max_receive_count))
            returning s.*),
        recorded as (
            insert into queue.history
            select h.* from moved m
            cross join lateral queue.history_row(
                p_queue_id => p_queue_id, p_outcome => 'dead_lettered', p_system => m.system,
                p_receive_count => m.receive_count, p_first_received_at => m.first_received_at,
                p_redelivered_at => m.redelivered_at, p_sent_at => m.sent_at, p_entered_at => m.entered_at,
                p_finished_at => p_now) h
            where (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id))
        insert into queue.side
        select r.* from moved m
        cross join lateral jsonb_populate_record(m::queue.side, queue.side_dead_letter_columns(
            p_queue_id, v_target, p_now, m.shard, m.id, m.message_id, m.sent_at, m.system, m.attributes,
            m.receive_count, m.first_received_at)) r;
        get diagnostics v_rows = row_count;
        if v_rows > 0 then
            perform queue.note_dead_lettered(p_queue_id, v_target, p_dead_letter_arn, v_rows);
        end if;
    end if;
    -- The other visible messages
    return query
    with taken as (
        update queue.side s
        set visible_at = p_now + p_visibility, receive_count = s.receive_count + 1,
            first_received_at = coalesce(s.first_received_at, p_now),
            redelivered_at = case when s.receive_count > 0 then queue.add_redelivery(s.redelivered_at, p_now) end
        where s.ctid = any (array(
            select r.ctid from queue.side r
            where queue.side_key(r.queue_id) = queue.side_key(p_queue_id) and r.visible_at <= p_now
                and r.sent_at >= p_sent_before
                -- The next receive moves the messages that this condition excludes to the dead-letter queue.
                and (v_target is null or r.receive_count < p_max_receive_count)
                and queue.fits(r.response_bytes, p_response_bytes, p_response_format)
            order by r.visible_at, r.id limit p_max for update skip locked))
        returning s.*),
    counted as (
        insert into queue.activity (queue_id, redelivered)
        select p_queue_id, count(*) from taken t where t.receive_count > 1 having count(*) > 0)
    select d.* from taken t cross join lateral queue.build_received_row(p_side => t::queue.side) d;
end $$;
