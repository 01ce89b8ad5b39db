-- queue.replace_messages: deletes messages of a queue and sends their edited copies. Each message is replaced
-- completely or stays as it is. Records which copy replaced which message (queue.edited_message). The parameters after
-- p_public_ids are those of send_messages, with an element for each message. A delay can be shorter than the queue's,
-- which then applies, and FIFO queues accept delays.
--   `p_deletion_id` keeps the originals for 30 seconds, within which undo_deletion replaces the copies by them.
--   `n` is the position of the message, from 1.
--   `id` is the public id of the copy.
--   `replaced` is the number of replaced messages in all rows.
--   `error` is MessageNotFound, MessageInFlight, DuplicateMessage (the target has received the copy's deduplication id
--     in the last five minutes), or an error of send_messages, with its `detail`.
-- Replaced messages come first. Takes the locks of delete_by_id, then of send_messages.
create or replace function queue.replace_messages(
    p_source text, p_public_ids bigint[], p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes int[],
    p_attributes jsonb[], p_system jsonb[], p_delays int[], p_groups text[], p_deduplication_ids text[],
    p_deletion_id uuid default null)
returns table (n int, id bigint, replaced int, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_queue queue.queues;
    v_target queue.queues;
    v_delay int;
    v_taken record;
    v_sent record;
    v_rows jsonb := '[]';
begin
    -- The setting makes notify_watchers notify every process, even this process.
    perform set_config('queue.watcher', '', true);
    select * into v_queue from queue.queues q where q.arn = p_source;
    perform queue.lock_messages(v_queue, p_public_ids);
    for v_n in 1 .. cardinality(p_public_ids) loop
        begin       -- An error undoes the replacement of this message only.
            select * into v_taken from queue.take_message(v_queue.queue_id, p_public_ids[v_n], false);
            if v_taken.message is null then
                raise exception '%', case when v_taken.is_in_flight then 'MessageInFlight' else 'MessageNotFound' end
                    using errcode = 'QU005';
            end if;
            select * into v_target from queue.queues q where q.arn = p_queues[v_n];
            v_delay := case when p_delays[v_n] > 0 then greatest(p_delays[v_n], v_target.delay_seconds) end;
            select * into v_sent from queue.send_messages(
                p_queues => p_queues[v_n:v_n], p_message_ids => p_message_ids[v_n:v_n],
                p_bodies => p_bodies[v_n:v_n], p_sizes => p_sizes[v_n:v_n], p_attributes => p_attributes[v_n:v_n],
                p_system => p_system[v_n:v_n], p_delays => array[v_delay], p_groups => p_groups[v_n:v_n],
                p_deduplication_ids => p_deduplication_ids[v_n:v_n]);
            -- Only a duplicate has a message id: that of the original.
            if v_sent.error is not null or v_sent.message_id is not null then
                raise exception '%', coalesce(v_sent.error, 'DuplicateMessage')
                    using errcode = 'QU005', detail = coalesce(v_sent.detail, '');
            end if;
            if v_delay > v_target.delay_seconds and v_target.fifo then     -- send_messages has locked the group.
                perform queue.hide_message(v_target.queue_id, queue.fifo_shard(), 0, v_sent.id >> 8, 0,
                    clock_timestamp() + v_delay * interval '1 second');
            end if;
            insert into queue.edited_message (copy_id, copy_queue_id, message_id, queue_id, public_id, receive_count,
                earlier_receives, first_sent_at_ms, first_sent_to, moves)
            select p_message_ids[v_n], v_target.queue_id, m.message_id, v_queue.queue_id, p_public_ids[v_n],
                m.receive_count, (m.system ->> 'ApproximateReceiveCount')::int, (f.first ->> 'FirstSentAt')::bigint,
                f.first ->> 'FirstSentTo', m.system -> 'Moves'
            -- Messages of FIFO queues have the same columns.
            from jsonb_populate_record(null::queue.side, v_taken.message) m
            cross join lateral queue.first_send(m.system, m.sent_at, v_queue.arn) f(first);
            if p_deletion_id is null then
                perform queue.record_deletion(v_queue.queue_id, p_public_ids[v_n], v_taken.message, clock_timestamp());
            else
                insert into queue.pending_deletion (deletion_id, public_id, queue_id, message, copy_queue_id,
                    copy_public_id)
                values (p_deletion_id, p_public_ids[v_n], v_queue.queue_id, v_taken.message, v_target.queue_id,
                    v_sent.id);
            end if;
            id := v_sent.id;
            error := null;
            detail := null;
        exception when sqlstate 'QU005' then
            id := null;
            get stacked diagnostics error = message_text, detail = pg_exception_detail;
        end;
        v_rows := v_rows || jsonb_build_object(
            'n', v_n, 'id', id, 'error', error, 'detail', detail);
    end loop;
    return query
    select r.n, r.id, (count(*) filter (where r.error is null) over ())::int, r.error, r.detail
    from jsonb_to_recordset(v_rows) r(n int, id bigint, error text, detail text)
    order by r.error nulls first, r.n;
end $$;
