-- queue.take_side: hands out messages of the slow path (queue.side). Those received p_max_receive_count times go to the
-- dead-letter queue instead, when it exists. p_now: when the receive began. Messages that this same receive has handed
-- out already, with a timeout of 0, became visible later, so it does not see them.
-- Locks: the messages' rows, skipped when locked. Index: side_visible_at. Called by: receive_messages.
drop function if exists queue.take_side(int, int, interval, int, text);
create or replace function queue.take_side(
    p_queue_id int, p_max int, p_now timestamptz, p_visibility interval, p_max_receive_count int,
    p_dead_letter_arn text)
returns setof queue.delivery
language plpgsql as $$
declare
    v_target int;
begin
    if p_max_receive_count is not null then
        select q.queue_id into v_target from queue.queues q where q.arn = p_dead_letter_arn and not q.fifo;
        if v_target is not null then
            perform queue.dead_letter_side(p_queue_id, p_max, p_now, p_max_receive_count, v_target, p_dead_letter_arn);
        end if;
    end if;
    return query
    with taken as (
        update queue.side s
        set visible_at = p_now + p_visibility, receive_count = s.receive_count + 1,
            first_received_at = coalesce(s.first_received_at, p_now)
        where s.ctid = any (array(
            select r.ctid from queue.side r
            where queue.time_key(r.queue_id, -1) = queue.time_key(p_queue_id, -1) and r.visible_at <= p_now
                and (v_target is null or r.receive_count < p_max_receive_count)      -- the next receive moves those
            order by r.visible_at, r.id limit p_max for update skip locked))
        returning s.*)
    select d.* from taken t cross join lateral queue.delivery_row(p_side => t::queue.side) d;
end $$;
