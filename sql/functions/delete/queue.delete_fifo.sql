-- queue.delete_fifo: deletes FIFO messages by their ids, and makes the next messages of their groups available. Returns
-- a row for each id, as delete_messages does.
--   `p_receive_count` restricts the deletion to messages in flight with this receive count. Null means messages in any
--     state.
--   `p_message_ids` restricts the deletion to messages with these message ids. Null means any message id.
-- The outcome of a message past its retention is never `expired`. The outcome is `deleted` if the message was in
-- flight, and otherwise `gone`. If the function deletes a message after the message's retention period, the history
-- records `expired` (queue.ending). The caller has locked the groups' rows (lock_groups_of_messages).
create or replace function queue.delete_fifo(
    p_queue_id int, p_receive_count int, p_ids bigint[], p_message_ids uuid[], p_numbers int[], p_archives boolean,
    p_keeps_history boolean)
returns table (n int, outcome text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_rows tid[];
    v_groups bigint[];
    v_deleted bigint[];
    v_expired bigint[];
    v_late bigint;
begin
    -- Each id needs a separate look-up, because for `id = any (…)` the planner can choose a scan of all messages. The
    -- caller has locked the groups, so these ctids stay valid.
    select array_agg(f.place) filter (where f.alive), array_agg(f.id) filter (where not f.alive),
        array_agg(distinct f.group_key)
    into v_rows, v_expired, v_groups
    from (
        select m.ctid as place, m.id, m.group_key, m.receive_count,
            p_receive_count is null or (m.receive_count <= p_receive_count and m.visible_at > v_now) as alive
        from unnest(p_ids, p_message_ids) u(id, message_id)
        cross join lateral (
            select f.ctid, f.* from queue.fifo_message f where f.id = u.id and f.queue_id = p_queue_id limit 1) m
        where m.message_id = coalesce(u.message_id, m.message_id)) f;
    if v_expired is not null then
        v_expired := array(
            select u.id from unnest(v_expired) u(id) where exists (
                select from queue.fifo_message m join queue.queues q on q.queue_id = m.queue_id
                where m.id = u.id and m.sent_at >= v_now - q.retention_seconds * interval '1 second'));
    end if;
    if p_archives then      -- A separate statement has no cost if the queue does not archive.
        insert into queue.archive overriding user value
        select r.* from queue.fifo_message m
        cross join lateral jsonb_populate_record(null::queue.archive, to_jsonb(m) || jsonb_build_object(
            'public_id', queue.public_id(queue.fifo_shard(), m.id), 'archived_at', clock_timestamp())) r
        where m.ctid = any (v_rows) and m.receive_count = coalesce(p_receive_count, m.receive_count);
    end if;
    with deleted as (
        delete from queue.fifo_message m
        where m.ctid = any (v_rows) and m.receive_count = coalesce(p_receive_count, m.receive_count)
        returning m.*),
    recorded as (
        insert into queue.history (queue_id, outcome, receive_count, first_received_at, redelivered_at, entered_by,
            group_id, group_ids, sent_at, finished_at)
        select p_queue_id, d.outcome, d.receive_count, d.first_received_at, d.redelivered_at, d.entered_by,
            case when min(d.name) = max(d.name) then min(d.name) end,
            case when min(d.name) <> max(d.name) then array_agg(d.name) end, array_agg(d.sent_at),
            array_agg(d.finished_at)
        from (      -- The query sorts once for both the groups and the lists.
            select m.receive_count, m.first_received_at, m.redelivered_at, queue.entered_by(m.system) as entered_by,
                e.outcome, m.system ->> 'MessageGroupId' as name, m.sent_at, e.finished_at
            from deleted m
            cross join lateral queue.ending(
                p_queue_id, 'deleted', m.sent_at, null, m.first_received_at, v_now) e
            where p_keeps_history order by 1, 2, 3, 4, 5, m.id) d
        group by d.receive_count, d.first_received_at, d.redelivered_at, d.entered_by, d.outcome)
    -- Younger messages need no look-up, because 60 seconds is the shortest retention period.
    select array_agg(d.id), count(*) filter (where d.sent_at < v_now - interval '60 seconds' and d.sent_at < v_now - (
        select q.retention_seconds from queue.queues q where q.queue_id = p_queue_id) * interval '1 second')
    into v_deleted, v_late from deleted d;
    if v_deleted is not null then
        insert into queue.activity (queue_id, deleted) values (p_queue_id, cardinality(v_deleted));
        if v_late > 0 then
            perform queue.count_expired(p_queue_id, v_late, v_now);
        end if;
    end if;
    perform queue.update_groups(v_groups);
    return query
    select u.n,
        case when u.id = any (v_deleted) then 'deleted' when u.id = any (v_expired) then 'expired' else 'gone' end
    from unnest(p_numbers, p_ids) u(n, id);
end $$;
