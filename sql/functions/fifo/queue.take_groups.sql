-- queue.take_groups: hands out messages of a FIFO queue, group after group, the longest ready first. Of a group it
-- takes only the messages before the first invisible one: no message overtakes one in flight.
-- The first p_share rows are for one receiver, the next p_share rows for the next one. No two receivers get messages of
-- one group, since a call takes messages of a group once, for one receiver.
-- Locks: the groups' rows, skipped when locked. Index: fifo_group_visible_at, fifo_message_group.
-- Called by: receive_messages.
drop function if exists queue.take_groups(int, int, interval, int, text);
create or replace function queue.take_groups(
    p_queue_id int, p_max int, p_share int, p_visibility interval, p_max_receive_count int, p_dead_letter_arn text)
returns setof queue.delivery
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_limit int := p_max / p_share + 1;
    v_groups bigint[];
    v_seen bigint[] := '{}';
    v_ids bigint[] := '{}';
    v_places tid[] := '{}';     -- ctids: a plan by id, if made for a small table, scans a whole index for each
    v_taken bigint[] := '{}';
    v_ready record;
    v_capacity int;
begin
    loop        -- few groups first, since other receivers cannot take groups that this call locks and does not use
        v_groups := array(
            select g.group_key from queue.fifo_group g
            where queue.time_key(g.queue_id, -2) = queue.time_key(p_queue_id, -2) and g.visible_at <= v_now
                and g.group_key <> all (v_seen)
            order by g.visible_at, g.group_key limit v_limit for update skip locked);
        for v_ready in
            select u.group_key, h.ids, h.places, h.receive_count
            from unnest(v_groups) with ordinality u(group_key, n)
            cross join lateral queue.first_ready_messages(u.group_key, least(p_share, p_max), v_now) h order by u.n
        loop
            v_capacity := least(p_share - cardinality(v_ids) % p_share, p_max - cardinality(v_ids));
            exit when v_capacity <= 0;
            if v_ready.receive_count >= p_max_receive_count then
                if queue.dead_letter_group(p_queue_id, v_ready.group_key, v_now, p_max_receive_count, p_dead_letter_arn)
                then
                    select h.ids, h.places into v_ready.ids, v_ready.places
                    from queue.first_ready_messages(v_ready.group_key, v_capacity, v_now) h;
                else
                    v_ready.ids := null;
                end if;
            end if;
            if v_ready.ids is null then
                perform queue.update_group_visibility(v_ready.group_key);
            else
                v_ids := v_ids || v_ready.ids[:v_capacity];
                v_places := v_places || v_ready.places[:v_capacity];
                v_taken := v_taken || v_ready.group_key;
            end if;
        end loop;
        exit when cardinality(v_groups) < v_limit or cardinality(v_ids) >= p_max;
        v_seen := v_seen || v_groups;
        v_limit := least(4 * v_limit, p_max - cardinality(v_ids) + 100);
    end loop;
    if v_ids = '{}' then
        return;
    end if;
    return query
    with taken as (
        update queue.fifo_message m
        set visible_at = v_now + p_visibility, receive_count = m.receive_count + 1,
            first_received_at = coalesce(m.first_received_at, v_now)
        where m.ctid = any (v_places)
        returning m.*)
    select null::text, null::int, p_queue_id, -2::smallint, 0::bigint, t.id, t.receive_count, t.message_id::text,
        queue.epoch_ms(t.sent_at), queue.epoch_ms(t.first_received_at), t.body, t.attributes::text,
        (t.system || jsonb_build_object('MessageDeduplicationId', t.deduplication_id))::text,
        queue.public_id(-2, t.id), queue.epoch_ms(t.visible_at)
    from taken t order by array_position(v_ids, t.id);
    update queue.fifo_group g set visible_at = v_now + p_visibility where g.group_key = any (v_taken);
end $$;
