-- queue.take_groups: hands out messages of a FIFO queue, group after group, the longest ready first. Of a group only
-- the messages before the first one that is still invisible: nothing overtakes a message in flight.
-- Locks: the groups' rows, skipped when locked. Index: fifo_group_visible_at, fifo_message_group.
-- Called by: receive_messages.
create or replace function queue.take_groups(
    p_queue_id int, p_max int, p_visibility interval, p_max_receive_count int, p_dead_letter_arn text)
returns setof queue.delivery
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_want int := p_max;
    v_group bigint;
    v_ids bigint[];
begin
    for v_group in
        select g.group_key from queue.fifo_group g
        where queue.time_key(g.queue_id, -2) = queue.time_key(p_queue_id, -2) and g.visible_at <= v_now
        order by g.visible_at, g.group_key limit p_max + 100 for update skip locked
    loop
        exit when v_want <= 0;
        if p_max_receive_count is not null
            and not queue.dead_letter_group(p_queue_id, v_group, v_now, p_max_receive_count, p_dead_letter_arn)
        then
            perform queue.settle_group(v_group);
            continue;
        end if;
        v_ids := array(
            select head.id from (
                select m.id, bool_and(m.visible_at <= v_now) over (order by m.id) as ready
                from (select f.id, f.visible_at from queue.fifo_message f
                      where f.group_key = v_group order by f.id limit v_want) m) head
            where head.ready);
        return query
        with taken as (
            update queue.fifo_message m
            set visible_at = v_now + p_visibility, receive_count = m.receive_count + 1,
                first_received_at = coalesce(m.first_received_at, v_now)
            where m.id = any (v_ids)
            returning m.*)
        select null::text, null::int, p_queue_id, -2::smallint, 0::bigint, t.id, t.receive_count, t.message_id::text,
            queue.epoch_ms(t.sent_at), queue.epoch_ms(t.first_received_at), t.body, t.attributes::text,
            (t.system || jsonb_build_object('MessageDeduplicationId', t.deduplication_id))::text,
            queue.public_id(-2, t.id), queue.epoch_ms(t.visible_at)
        from taken t order by t.id;
        v_want := v_want - cardinality(v_ids);
        perform queue.settle_group(v_group);
    end loop;
end $$;
