-- queue.purge_side: deletes messages of the side table (queue.side) and records them in the history. Returns the number
-- of deleted messages. Deletes all messages as purged if p_sent_before is null. Otherwise, deletes up to 1,000 messages
-- that were sent before p_sent_before, as expired, and skips locked messages. Locks the messages' rows. Uses the
-- indexes side_visible_at and side_sent_at.
create or replace function queue.purge_side(p_queue_id int, p_sent_before timestamptz default null) returns bigint
language plpgsql as $$
declare
    v_messages bigint;
    v_rows tid[];
    v_now timestamptz;
begin
    if p_sent_before is not null then
        v_rows := array(
            select r.ctid from queue.side r
            where queue.side_key(r.queue_id) = queue.side_key(p_queue_id) and r.sent_at < p_sent_before
            order by r.sent_at limit 1000 for update skip locked);
    else
        v_rows := array(
            select r.ctid from queue.side r
            where queue.side_key(r.queue_id) = queue.side_key(p_queue_id)
            order by r.visible_at for update);
    end if;
    v_now := clock_timestamp();
    with gone as (
        delete from queue.side s
        where s.ctid = any (v_rows) returning s.*),
    recorded as (
        insert into queue.history (queue_id, outcome, receive_count, first_received_at, redelivered_at, entered_by,
            group_id, sent_at, entered_at, finished_at)
        select p_queue_id, e.outcome, g.receive_count,
            g.first_received_at, g.redelivered_at, queue.entered_by(g.system), g.system ->> 'MessageGroupId',
            array_agg(g.sent_at),
            case when count(g.entered_at) > 0 then array_agg(coalesce(g.entered_at, g.sent_at)) end,
            array_agg(e.finished_at)
        from gone g
        cross join lateral queue.ending(p_queue_id, case when p_sent_before is null then 'purged' else 'expired' end,
            g.sent_at, g.entered_at, g.first_received_at, v_now) e
        where (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id)
        group by e.outcome, g.receive_count, g.first_received_at, g.redelivered_at, queue.entered_by(g.system),
            g.system ->> 'MessageGroupId')
    select count(*) into v_messages from gone;
    if p_sent_before is not null then
        perform queue.count_expired(p_queue_id, v_messages);
    end if;
    return v_messages;
end $$;
