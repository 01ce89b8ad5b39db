-- queue.take_side: hands out messages of the slow path (queue.side). Those received p_max_receive_count times go to the
-- dead-letter queue instead, when it exists: all among the first p_max + 100 visible messages that are not passed over or
-- have been received so often, so that few are left for the next receive. p_now: when the receive began. Messages that this same receive has handed out already, with a
-- timeout of 0, became visible later, so it does not see them. p_answer_bytes, p_answer_format: as receive_messages.
-- Locks: the messages' rows, skipped when locked. Index: side_visible_at.
create or replace function queue.take_side(
    p_queue_id int, p_max int, p_now timestamptz, p_visibility interval, p_max_receive_count int,
    p_dead_letter_arn text, p_answer_bytes int, p_answer_format text)
returns setof queue.received_row
language plpgsql as $$
declare
    v_target int;
    v_rows int;
begin
    if p_max_receive_count is not null then
        select q.queue_id into v_target from queue.queues q where q.arn = p_dead_letter_arn and not q.fifo;
    end if;
    if v_target is not null then
        with moved as (
            delete from queue.side s
            where s.ctid = any (array(
                select due.ctid from (
                    select r.ctid, r.receive_count from queue.side r
                    where queue.time_key(r.queue_id, -1) = queue.time_key(p_queue_id, -1) and r.visible_at <= p_now
                        and (p_answer_bytes is null or r.receive_count >= p_max_receive_count
                            or coalesce((r.answer_bytes ->> p_answer_format)::int, 0) <= p_answer_bytes)
                    order by r.visible_at, r.id limit p_max + 100 for update skip locked) due
                where due.receive_count >= p_max_receive_count))
            returning s.*),
        recorded as (
            insert into queue.history (queue_id, outcome, receive_count, first_received_at, redelivered_at, group_id,
                sent_at, entered_at, entered_by, finished_at)
            select p_queue_id, 'dead_lettered', m.receive_count, m.first_received_at, m.redelivered_at,
                m.system ->> 'MessageGroupId', array[m.sent_at],
                case when m.entered_at is not null then array[m.entered_at] end, queue.entered_by(m.system), array[p_now]
            from moved m where (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id))
        insert into queue.side
        select r.* from moved m
        cross join lateral jsonb_populate_record(m::queue.side, jsonb_build_object(
            'id', nextval('queue.side_id'), 'visible_at', p_now, 'queue_id', v_target, 'shard', -1, 'receive_count', 0,
            'first_received_at', null, 'redelivered_at', null, 'entered_at', p_now,
            'system', queue.dead_letter_system(p_queue_id, m.system, m.receive_count, m.first_received_at))) r;
        get diagnostics v_rows = row_count;
        if v_rows > 0 then
            insert into queue.dead_letter_count (queue_id, messages) values (p_queue_id, v_rows);
            insert into queue.activity (queue_id, sent, dead_lettered)
            values (p_queue_id, 0, v_rows), (v_target, v_rows, 0);
            perform queue.notify_watchers(v_target, p_dead_letter_arn);
        end if;
    end if;
    return query
    with taken as (
        update queue.side s
        set visible_at = p_now + p_visibility, receive_count = s.receive_count + 1,
            first_received_at = coalesce(s.first_received_at, p_now),
            redelivered_at = case when s.receive_count > 0 then queue.add_redelivery(s.redelivered_at, p_now) end
        where s.ctid = any (array(
            select r.ctid from queue.side r
            where queue.time_key(r.queue_id, -1) = queue.time_key(p_queue_id, -1) and r.visible_at <= p_now
                and (v_target is null or r.receive_count < p_max_receive_count)      -- the next receive moves those
                and (p_answer_bytes is null or coalesce((r.answer_bytes ->> p_answer_format)::int, 0) <= p_answer_bytes)
            order by r.visible_at, r.id limit p_max for update skip locked))
        returning s.*),
    counted as (
        insert into queue.activity (queue_id, redelivered)
        select p_queue_id, count(*) from taken t where t.receive_count > 1 having count(*) > 0)
    select d.* from taken t cross join lateral queue.delivery_row(p_side => t::queue.side) d;
end $$;
