-- queue.receive_answer: receive_messages, whose messages for one receiver fit together into an answer of p_answer_bytes.
-- What does not fit is not received: it stays visible, and its receive count is as before.
-- Parameters: as receive_messages; p_answer_bytes: null, no limit; p_answer_format: as answer_bytes. With json and xml a
--   single message is handed out whatever its length. With other formats a message that is too long for an answer of its
--   own is passed over (pass_over): others are handed out, of a FIFO queue those of other groups.
-- Returns: as receive_messages; error ResponseTooLarge when every message that can be received now is passed over
--   (passes_over_all). Nothing, without an error, when that is not certain, also when this call had to measure many of them:
--   a MiB takes up to 100 ms to measure and to move, so it does so for two seconds at most, and the next call goes on: a
--   call that takes longer than QUEUE_DATABASE_CALL_TIMEOUT_MS is undone, and would begin again each time.
-- What was received is measured if the greatest growth by escapes would make it too long, and too much of it is undone
--   before fewer are asked for: in a subtransaction, which also releases the locks.
-- Locks: as receive_messages and pass_over. Raises QU004 (not under READ COMMITTED).
create or replace function queue.receive_answer(
    p_queue text, p_max int, p_lease_size int, p_visibility_seconds int, p_in_flight_limit int, p_async_commit boolean,
    p_attempt_id text, p_answer_bytes int, p_answer_format text)
returns setof queue.received_row
language plpgsql as $$
declare
    v_any boolean := p_answer_format in ('json', 'xml');
    -- how much longer escapes make a text at most; control characters, which no interface accepts, aside
    v_growth int := case p_answer_format when 'json' then 2 when 'xml' then 6 else 7 end;
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
    if p_attempt_id is not null then
        return query select * from queue.receive_attempt(p_queue, p_max, p_visibility_seconds, p_in_flight_limit,
            p_attempt_id, p_answer_bytes, p_answer_format);
        return;
    elsif p_answer_bytes is null then
        return query select * from queue.receive_messages(p_queue, p_max, p_lease_size, p_visibility_seconds,
            p_in_flight_limit, p_async_commit, null);
        return;
    end if;
    for v_step in 1 .. 20 loop      -- each step hands out, or asks for fewer, or passes messages over
        begin
            v_rows := array(
                select r::queue.received_row from queue.receive_messages(p_queue, v_max, p_lease_size, p_visibility_seconds,
                    p_in_flight_limit, p_async_commit, null, null, case when not v_any then p_answer_bytes end,
                    p_answer_format) r);
            v_count := cardinality(v_rows) - 1;
            v_fitting := v_count;
            if (select sum(2000 + v_growth * queue.stored_bytes(m)::bigint) > p_answer_bytes from unnest(v_rows[2:]) m) then
                v_fitting := 0;
                v_bytes := 0;       -- of p_lease_size messages in a row: no receiver gets more
                v_sizes := '{}';
                foreach v_row in array v_rows[2:] loop
                    v_sizes := v_sizes || queue.answer_bytes(v_row, p_answer_format);
                    v_bytes := v_bytes + v_sizes[v_fitting + 1] - coalesce(v_sizes[v_fitting + 1 - p_lease_size], 0);
                    exit when v_bytes > p_answer_bytes and (not v_any or v_fitting > 0);
                    v_fitting := v_fitting + 1;
                end loop;
            end if;
            if v_fitting = v_count then
                if not v_any and v_count = 0 and v_rows[1].error is null
                    and queue.passes_over_all(p_queue, p_answer_bytes, p_answer_format)
                then
                    v_rows[1].error := 'ResponseTooLarge';
                end if;
                return query select * from unnest(v_rows);
                return;
            end if;
            raise exception 'the messages are too long for one answer' using errcode = 'QU010';
        exception when sqlstate 'QU010' then null;
        end;
        if v_fitting > 0 then
            v_max := v_fitting;
            continue;
        end if;
        v_noted := false;
        foreach v_row in array v_rows[2:] loop
            exit when v_noted and clock_timestamp() > v_until;
            v_bytes := queue.answer_bytes(v_row, p_answer_format);
            if v_bytes > p_answer_bytes and queue.pass_over(p_queue, v_row, p_answer_format, v_bytes::int) then
                v_noted := true;
            end if;
        end loop;
        exit when not v_noted       -- somebody else holds the next message now
            or clock_timestamp() > v_until;
        v_max := p_max;
    end loop;
    return query select * from unnest(v_rows[:1]);
end $$;
