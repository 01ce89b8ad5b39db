-- queue.change_visibilities: makes messages invisible for p_visibility_seconds from now on, or visible at once if the
-- value is 0. Each handle has an element in each array. The other parameters are those of delete_messages.
--   `n` is the position of the handle, from 1.
--   `changed` means that the message is invisible until visible_at_ms.
--   `gone` means that the handle is no longer valid, or that the message's retention is over.
--   `expired` means that the visibility timeout of a FIFO message is over.
--   `too_long` means that the end is more than 12 hours after the first receive.
--   `no_queue` means that the queue does not exist.
-- Takes the locks of delete_messages. Uses the indexes lease_pkey, side_pkey, log_pkey and fifo_message_pkey.
create or replace function queue.change_visibilities(
    p_queue_ids int[], p_shards smallint[], p_positions bigint[], p_ids bigint[], p_receive_counts int[],
    p_nonces int[], p_message_ids uuid[], p_visibility_seconds int[])
returns table (n int, outcome text, visible_at_ms bigint)
language plpgsql as $$
#variable_conflict use_column
declare
    v_handle record;
    v_arn text;
    v_before timestamptz;       -- The retention of messages that were sent earlier is over.
    v_visible_at timestamptz;
    v_received record;
begin
    if queue.fifo_shard() = any (p_shards) then
        perform queue.lock_groups_of_messages(array(
            select h.id from unnest(p_shards, p_ids) h(shard, id) where h.shard = queue.fifo_shard()));
    end if;
    for v_handle in
        select h.* from unnest(p_queue_ids, p_shards, p_positions, p_ids, p_receive_counts, p_nonces,
                p_message_ids, p_visibility_seconds)
            with ordinality h(queue_id, shard, pos, id, receive_count, nonce, message_id, seconds, n)
        order by h.queue_id, h.shard desc, h.pos, h.id
    loop
        n := v_handle.n;
        visible_at_ms := null;
        select q.arn, clock_timestamp() - q.retention_seconds * interval '1 second' into v_arn, v_before
        from queue.queues q where q.queue_id = v_handle.queue_id;
        if v_arn is null then
            outcome := 'no_queue';
            return next;
            continue;
        end if;
        -- This query finds the message's lease, receive count and first receive. The lease is 0 if the message has no
        -- lease. A FIFO queue's handle is valid only until the next receive of the message. A standard queue's handle
        -- is valid while the message exists.
        if v_handle.shard = queue.fifo_shard() then
            select 0::bigint as pos, m.receive_count, m.first_received_at into v_received from queue.fifo_message m
            where m.id = v_handle.id and m.queue_id = v_handle.queue_id and m.receive_count = v_handle.receive_count
                and m.message_id = v_handle.message_id and m.sent_at >= v_before;
        else
            select x.pos, x.receive_count, x.first_received_at into v_received from queue.lease x
            where x.queue_id = v_handle.queue_id and x.shard = v_handle.shard and x.pos = v_handle.pos
                and v_handle.id = any (x.ids) and x.nonce = v_handle.nonce and exists (
                    select from queue.log l
                    where l.queue_id = v_handle.queue_id and l.shard = v_handle.shard and l.id = v_handle.id
                        and l.sent_at >= v_before);
            if not found then
                select 0::bigint as pos, s.receive_count, s.first_received_at into v_received from queue.side s
                where s.queue_id = v_handle.queue_id and s.shard = v_handle.shard and s.id = v_handle.id
                    and s.message_id = v_handle.message_id and s.sent_at >= v_before;
            end if;
            if not found then
                select n.pos, n.receive_count, n.first_received_at into v_received
                from (      -- Leases can overlap (take_fair).
                    select x.pos, x.receive_count, x.first_received_at, x.ids from queue.lease x
                    where x.queue_id = v_handle.queue_id and x.shard = v_handle.shard and x.pos >= v_handle.id
                    order by x.pos limit 200) n
                where v_handle.id = any (n.ids) and exists (
                    select from queue.log l
                    where l.queue_id = v_handle.queue_id and l.shard = v_handle.shard and l.id = v_handle.id
                        and l.message_id = v_handle.message_id and l.sent_at >= v_before);
            end if;
        end if;
        -- The outcome
        v_visible_at := clock_timestamp() + v_handle.seconds * interval '1 second';
        if v_handle.shard = queue.fifo_shard() and exists (
            select from queue.fifo_message m
            where m.id = v_handle.id and m.queue_id = v_handle.queue_id
                and m.message_id = v_handle.message_id and m.sent_at >= v_before
                and (m.receive_count > v_handle.receive_count or m.visible_at <= clock_timestamp()))
        then
            outcome := 'expired';
        elsif v_received.receive_count is null then
            outcome := 'gone';
        elsif v_visible_at > v_received.first_received_at + interval '12 hours' then
            outcome := 'too_long';
        elsif queue.hide_message(v_handle.queue_id, v_handle.shard, v_received.pos, v_handle.id,
            v_received.receive_count, v_visible_at)
        then
            outcome := 'changed';
            visible_at_ms := queue.epoch_ms(v_visible_at);
            if v_handle.seconds = 0 then
                perform queue.notify_watchers(v_handle.queue_id, v_arn);
            end if;
        else
            outcome := 'gone';
        end if;
        return next;
    end loop;
end $$;
