-- queue.fail_messages: records why the receivers of messages failed, and changes the messages' visibility. Each handle
-- has an element in each array. The parameters are those of change_visibilities, and `p_errors` contains the errors
-- (record_failure). An element of `p_visibility_seconds` can be null, which does not change the visibility.
--   `n` and `visible_at_ms` are as in change_visibilities.
--   `outcome` is as in change_visibilities. Without seconds, the value `changed` means that the message exists.
-- Records only the failures of messages with the outcome `changed`. Takes the locks of change_visibilities, and then
-- locks the failures in the order of their keys.
create or replace function queue.fail_messages(
    p_queue_ids int[], p_shards smallint[], p_positions bigint[], p_ids bigint[], p_receive_counts int[],
    p_nonces int[], p_message_ids uuid[], p_visibility_seconds int[], p_errors text[])
returns table (n int, outcome text, visible_at_ms bigint)
language plpgsql as $$
#variable_conflict use_column
declare
    -- The positions of the handles with seconds
    v_timed int[] := array(select u.n from unnest(p_visibility_seconds) with ordinality u(seconds, n)
        where u.seconds is not null order by u.n);
    v_outcomes text[];
    v_visible_at bigint[];
    v_entry record;
begin
    if v_timed <> '{}' then
        select array_agg(c.outcome order by c.n), array_agg(c.visible_at_ms order by c.n)
        into v_outcomes, v_visible_at
        from queue.change_visibilities(
            array(select p_queue_ids[t] from unnest(v_timed) with ordinality h(t, k) order by k),
            array(select p_shards[t] from unnest(v_timed) with ordinality h(t, k) order by k),
            array(select p_positions[t] from unnest(v_timed) with ordinality h(t, k) order by k),
            array(select p_ids[t] from unnest(v_timed) with ordinality h(t, k) order by k),
            array(select p_receive_counts[t] from unnest(v_timed) with ordinality h(t, k) order by k),
            array(select p_nonces[t] from unnest(v_timed) with ordinality h(t, k) order by k),
            array(select p_message_ids[t] from unnest(v_timed) with ordinality h(t, k) order by k),
            array(select p_visibility_seconds[t] from unnest(v_timed) with ordinality h(t, k) order by k)) c;
    end if;
    for v_entry in
        select u.*, m.message_id as found, m.receive_count as count,
            exists (select from queue.queues q where q.queue_id = u.queue_id) as has_queue,
            v_outcomes[array_position(v_timed, u.n::int)] as change,
            v_visible_at[array_position(v_timed, u.n::int)] as visible
        from unnest(p_queue_ids, p_shards, p_ids, p_receive_counts, p_message_ids, p_errors)
            with ordinality u(queue_id, shard, id, receive_count, message_id, error, n)
        left join lateral queue.pick_messages(u.queue_id, array[queue.public_id(u.shard, u.id)]) m
            on m.message_id = coalesce(u.message_id, m.message_id)
        order by u.queue_id, u.message_id, u.receive_count, u.n
    loop
        n := v_entry.n;
        visible_at_ms := v_entry.visible;
        outcome := coalesce(v_entry.change, case when not v_entry.has_queue then 'no_queue'
            when v_entry.found is null then 'gone'
            -- The handle of a FIFO queue is valid only until the next receive.
            when v_entry.shard = queue.fifo_shard() and v_entry.count > v_entry.receive_count then 'expired'
            else 'changed' end);
        if outcome = 'changed' and v_entry.found is not null then
            perform queue.record_failure(v_entry.queue_id, v_entry.found, v_entry.receive_count, v_entry.error);
        end if;
        return next;
    end loop;
end $$;
