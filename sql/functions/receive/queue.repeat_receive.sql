-- queue.repeat_receive: repeats a receive of a FIFO queue by its ReceiveRequestAttemptId. While all its messages are
-- invisible and unchanged since they were handed out, it hands them out again, under the same handles, and their
-- visibility timeout starts anew. The five minutes do not: they count from the receive that is repeated.
-- Returns: as receive_messages, with error ReceiveAttemptOver when messages were changed since: deleted, their
--   visibility changed, or received again. No row at all when there is nothing to repeat: no such receive in the last
--   five minutes, or its timeout is over and the messages are unchanged.
-- The caller has the attempt's advisory lock. Locks: the groups' rows. Index: receive_attempt_pkey, fifo_message_pkey.
create or replace function queue.repeat_receive(
    p_queue_id int, p_attempt_id text, p_visibility interval, p_wait_seconds int)
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
        and a.received_at > clock_timestamp() - interval '5 minutes';
    if not found then
        return;
    end if;
    perform queue.lock_groups_of_messages(v_attempt.ids);
    v_now := clock_timestamp();
    v_rows := array(                -- one lookup an id: with an array the planner may read all messages
        select (select m.ctid from queue.fifo_message m
                where m.id = u.id and m.queue_id = p_queue_id and m.receive_count = u.receive_count
                    and m.visible_at = v_attempt.visible_at)
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
    select d.* from again a cross join lateral queue.delivery_row(p_fifo => a::queue.fifo_message) d
    order by array_position(v_attempt.ids, a.id);
    for v_group in
        select distinct (
            select m.group_key from queue.fifo_message m where m.id = u.id)
        from unnest(v_attempt.ids) u(id)
    loop
        perform queue.update_groups(array[v_group]);
    end loop;
end $$;
