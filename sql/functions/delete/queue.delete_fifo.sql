-- queue.delete_fifo: deletes FIFO messages by their ids, and makes the next messages of their groups available. Returns
-- a row for each id, as delete_messages does.
--   `p_receive_count` restricts the deletion to messages in flight with this receive count. Null means messages in any
--     state.
--   `p_message_ids` restricts the deletion to messages with these message ids. Null means any message id.
--   `p_retention` is the queue's retention period.
-- The outcome of a message past its retention is never `expired`. The outcome is `deleted` if the message was in
-- flight, and otherwise `gone`. If the function deletes a message after the message's retention period, the history
-- records `expired` (queue.ending). The caller has locked the groups' rows (lock_groups_of_messages).
create or replace function queue.delete_fifo(
    p_queue_id int, p_receive_count int, p_ids bigint[], p_message_ids uuid[], p_numbers int[], p_archives boolean,
    p_keeps_history boolean, p_retention interval)
returns table (n int, outcome text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_rows tid[];
    v_is_late boolean;
    v_count bigint;
    v_groups bigint[];
    v_deleted bigint[];
    v_expired bigint[];
begin
    -- Each id needs a separate look-up, because for `id = any (…)` the planner can choose a scan of all messages. The
    -- caller has locked the groups, so these ctids stay valid.
    select array_agg(f.place) filter (where f.alive), bool_or(f.alive and f.late),
        array_agg(f.id) filter (where not (f.alive or f.late)), array_agg(distinct f.group_key)
    into v_rows, v_is_late, v_expired, v_groups
    from (
        select m.ctid as place, m.id, m.group_key, m.sent_at < v_now - p_retention as late,
            p_receive_count is null or (m.receive_count <= p_receive_count and m.visible_at > v_now) as alive
        from unnest(p_ids, p_message_ids) u(id, message_id)
        cross join lateral (
            select f.ctid, f.* from queue.fifo_message f where f.id = u.id and f.queue_id = p_queue_id limit 1) m
        where m.message_id = coalesce(u.message_id, m.message_id)) f;
    if p_archives then      -- A separate statement has no cost if the queue does not archive.
        insert into queue.archive overriding user value
        select r.* from queue.fifo_message m
        cross join lateral jsonb_populate_record(null::queue.archive, to_jsonb(m) || jsonb_build_object(
            'public_id', queue.public_id(queue.fifo_shard(), m.id), 'archived_at', clock_timestamp())) r
        where m.ctid = any (v_rows) and m.receive_count = coalesce(p_receive_count, m.receive_count);
    end if;
    if v_is_late then
        with expired as (
            select m.* from queue.fifo_message m
            where m.ctid = any (v_rows) and m.sent_at < v_now - p_retention
                and m.receive_count = coalesce(p_receive_count, m.receive_count)),
        recorded as (
            insert into queue.history
            select h.* from expired m
            cross join lateral queue.history_row(
                p_queue_id => p_queue_id, p_outcome => 'deleted', p_system => m.system,
                p_receive_count => m.receive_count, p_first_received_at => m.first_received_at,
                p_redelivered_at => m.redelivered_at, p_sent_at => m.sent_at, p_entered_at => null,
                p_finished_at => v_now) h
            where p_keeps_history)
        select count(*) into v_count from expired;
        perform queue.count_expired(p_queue_id, v_count, v_now);
    end if;
    with deleted as (
        delete from queue.fifo_message m
        where m.ctid = any (v_rows) and m.receive_count = coalesce(p_receive_count, m.receive_count)
        returning m.*),
    recorded as (
        insert into queue.history (queue_id, outcome, receive_count, first_received_at, redelivered_at, entered_by,
            group_id, group_ids, sent_at, finished_at)
        select p_queue_id, 'deleted', d.receive_count, d.first_received_at, d.redelivered_at, d.entered_by,
            case when min(d.name) = max(d.name) then min(d.name) end,
            case when min(d.name) <> max(d.name) then array_agg(d.name) end, array_agg(d.sent_at), array_agg(v_now)
        from (      -- The query sorts once for both the groups and the lists.
            select m.receive_count, m.first_received_at, m.redelivered_at, queue.entered_by(m.system) as entered_by,
                m.system ->> 'MessageGroupId' as name, m.sent_at
            from deleted m
            where p_keeps_history and m.sent_at >= v_now - p_retention order by 1, 2, 3, 4, m.id) d
        group by d.receive_count, d.first_received_at, d.redelivered_at, d.entered_by)
    select array_agg(d.id) into v_deleted from deleted d;
    if v_deleted is not null then
        insert into queue.activity (queue_id, deleted) values (p_queue_id, cardinality(v_deleted));
    end if;
    perform queue.update_groups(v_groups);
    return query
    select u.n,
        case when u.id = any (v_deleted) then 'deleted' when u.id = any (v_expired) then 'expired' else 'gone' end
    from unnest(p_numbers, p_ids) u(n, id);
end $$;
