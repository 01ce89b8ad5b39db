-- queue.take_groups: receives messages of a FIFO queue, group by group. The group that has been ready for the longest
-- time comes first. Takes a group's messages only up to the first invisible message, so no message overtakes a message
-- in flight. Each receiver receives p_share rows of the result, in order. One receiver receives all messages of a
-- group.
--   `p_sent_before` is the time before which sent messages are past their retention. The function does not return these
--     messages.
--   `p_response_bytes` and `p_response_format` are the limit of the response, as in receive_messages.
--   `p_again` is true if the function searches once more after a search that finds only messages past their retention.
-- A group is also ready when the retention of its first message ends. Deletes expired messages, even in flight. If the
-- response has no room for a group's first message, this receive skips the group and does not lock it. A group
-- whose first message has to become a dead letter is an exception. The group stays available to other receives. If a
-- receive finds no message, the setting queue.passed_over says whether the receive passed over a group. Dead entries in
-- the index by time make searches long. The search therefore begins where store_search says. The function
-- is long because calls of smaller functions were slower (decision 28). Its parts are numbered.
-- Locks the groups' rows and skips locked rows. Uses the indexes fifo_ready_visible_at, fifo_ready_pkey and
-- fifo_message_of_group.
-- This file also contains first_ready_at, store_search, note_passed_over, group_fits, first_ready_messages and
-- dead_letter_group.
create or replace function queue.take_groups(
    p_queue_id int, p_max int, p_share int, p_visibility interval, p_max_receive_count int, p_dead_letter_arn text,
    p_sent_before timestamptz, p_response_bytes int, p_response_format text, p_again boolean default true)
returns setof queue.received_row
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_limit int := p_max / p_share + 1;
    v_groups bigint[];
    v_firsts bigint[];
    v_seen bigint[] := '{}';
    v_ids bigint[] := '{}';
    -- With ids instead of ctids, a plan for a small table would scan a whole index for each message.
    v_ctids tid[] := '{}';
    v_taken bigint[] := '{}';
    v_first_ids bigint[] := '{}';
    v_first_sent_at timestamptz;
    v_ready record;
    v_capacity int;
    v_search queue.fifo_search;
    v_full boolean;
    v_late boolean;
    v_again boolean;
    v_start timestamptz;
    v_took interval;
    v_redelivered boolean := false;
    v_moved record;
    v_target int;
    v_dead_lettered int := 0;
    v_rows int;
    v_ready_at timestamptz;
begin
    -- 1. Find the place where the search begins.
    select * into v_search from queue.fifo_search s
    where s.queue_id = p_queue_id order by s.searched_at desc limit 1;
    v_full := (v_search.searched_at <= v_now and v_search.full_due_at > v_now) is not true;
    v_late := v_full or v_search.late_at < v_now - interval '1 second';
    v_again := v_late or v_search.searched_at < v_now - interval '0.1 seconds';
    v_start := case when v_full then '-infinity' when v_late then v_search.late_visible_at else v_search.visible_at end;
    if v_again then
        v_start := coalesce(queue.first_ready_at(p_queue_id, v_start), v_now);
        v_took := clock_timestamp() - v_now;
    end if;
    -- 2. Search in steps. The first step takes few groups, because other receivers cannot take groups that this call
    -- locks.
    loop
        -- Lock ready groups.
        select coalesce(array_agg(l.group_key), '{}'), array_agg(l.first_id) into v_groups, v_firsts
        from (
            select g.group_key, r.first_id from queue.fifo_ready r join queue.fifo_group g on g.group_key = r.group_key
            where queue.fifo_key(r.queue_id) = queue.fifo_key(p_queue_id)
                and r.visible_at between v_start and v_now and r.group_key <> all (v_seen)
                and (p_response_bytes is null or queue.group_fits(r.group_key, r.first_id, p_response_bytes,
                    p_response_format, p_max_receive_count, p_sent_before))
            order by r.visible_at, r.group_key limit v_limit for update of g skip locked) l;
        -- Choose messages, and move messages that were received too often to the dead-letter queue.
        for v_ready in
            select u.group_key, u.first_id, h.ids, h.ctids, h.receive_count, h.sent_at
            from unnest(v_groups, v_firsts) with ordinality u(group_key, first_id, n)
            cross join lateral queue.first_ready_messages(u.group_key, u.first_id, least(p_share, p_max), v_now,
                p_sent_before, p_response_bytes, p_response_format) h
            order by u.n
        loop
            v_capacity := least(p_share - cardinality(v_ids) % p_share, p_max - cardinality(v_ids));
            exit when v_capacity <= 0;
            -- No message of a group has been received more often than an earlier message of the group.
            v_redelivered := v_redelivered or v_ready.receive_count > 0;
            if v_ready.receive_count >= p_max_receive_count then
                select * into v_moved from queue.dead_letter_group(
                    p_queue_id, v_ready.group_key, v_now, p_max_receive_count, p_dead_letter_arn, p_sent_before);
                v_target := coalesce(v_moved.target_id, v_target);
                v_dead_lettered := v_dead_lettered + v_moved.messages;
                if v_moved.is_done then
                    select h.ids, h.ctids, h.sent_at into v_ready.ids, v_ready.ctids, v_ready.sent_at
                    from queue.first_ready_messages(v_ready.group_key, v_ready.first_id, v_capacity, v_now,
                        p_sent_before, p_response_bytes, p_response_format) h;
                else
                    v_ready.ids := null;
                end if;
            end if;
            -- If the receive passed over a ready group, update_groups does not change the group.
            if v_ready.ids is null then
                perform queue.update_groups(array[v_ready.group_key]);
            else
                v_ids := v_ids || v_ready.ids[:v_capacity];
                v_ctids := v_ctids || v_ready.ctids[:v_capacity];
                v_taken := v_taken || v_ready.group_key;
                v_first_ids := v_first_ids || v_ready.ids[1];
                v_first_sent_at := least(v_first_sent_at, v_ready.sent_at);
            end if;
        end loop;
        -- Search again, with more groups.
        exit when cardinality(v_groups) < v_limit or cardinality(v_ids) >= p_max;
        v_seen := v_seen || v_groups;
        -- A step examines at most 100 groups more than the receive still needs messages.
        v_limit := least(4 * v_limit, p_max - cardinality(v_ids) + 100);
    end loop;
    -- 3. Record the dead letters, and where the next search begins.
    if v_dead_lettered > 0 then
        perform queue.note_dead_lettered(p_queue_id, v_target, p_dead_letter_arn, v_dead_lettered);
    end if;
    -- An empty receive writes only if the write saves the next receive a long search, or if searches have become short
    -- again. Until the due search runs, poll_queues says that the queue is ready.
    if v_again and (v_ids <> '{}' or v_took > interval '5 milliseconds'
        or (v_full and v_search.full_took > interval '5 milliseconds'))
    then
        perform queue.store_search(
            p_queue_id => p_queue_id, p_search => v_search, p_full => v_full, p_late => v_late, p_now => v_now,
            p_first_at => v_start, p_took => v_took, p_got_less => cardinality(v_ids) < p_max);
    end if;
    -- 4. End a receive without messages.
    if v_ids = '{}' then
        if p_response_bytes is not null then
            perform queue.note_passed_over(p_queue_id, v_start, v_now, p_response_bytes, p_response_format);
        end if;
        return;
    end if;
    -- 5. Receive the chosen messages.
    if v_redelivered then
        insert into queue.activity (queue_id, redelivered)
        select p_queue_id, count(*) from queue.fifo_message m where m.ctid = any (v_ctids) and m.receive_count > 0
        having count(*) > 0;
    end if;
    return query
    with taken as (
        update queue.fifo_message m
        set visible_at = v_now + p_visibility, receive_count = m.receive_count + 1,
            first_received_at = coalesce(m.first_received_at, v_now),
            redelivered_at = case when m.receive_count > 0 then queue.add_redelivery(m.redelivered_at, v_now) end
        where m.ctid = any (v_ctids) and m.sent_at >= p_sent_before
        returning m.*)
    select d.* from taken t cross join lateral queue.build_received_row(p_fifo => t::queue.fifo_message) d
    order by array_position(v_ids, t.id);
    get diagnostics v_rows = row_count;
    -- 6. Store when the groups become ready again. If a retention ends earlier than the visibility timeout, all groups
    -- of this receive become ready at that time. An early search of a group finds its messages in flight and does
    -- nothing.
    v_ready_at := least(v_now + p_visibility, greatest(v_first_sent_at + (v_now - p_sent_before), v_now));
    with replaced as (
        delete from queue.fifo_ready r where r.ctid = any (array(
            select (select f.ctid from queue.fifo_ready f
                    where f.group_key = u.group_key order by f.version desc limit 1)
            from unnest(v_taken) u(group_key))))
    insert into queue.fifo_ready (group_key, queue_id, visible_at, first_id)
    select u.group_key, p_queue_id, v_ready_at, u.first_id from unnest(v_taken, v_first_ids) u(group_key, first_id);
    -- 7. Delete expired messages, and search once more if all messages had expired.
    if v_rows < cardinality(v_ids) then
        perform queue.purge_group(p_queue_id, u.group_key, p_sent_before) from unnest(v_taken) u(group_key);
        if v_rows = 0 and p_again then
            -- A receive cleans at most 1,000 groups.
            perform queue.purge_groups(p_queue_id, p_sent_before, 1000);
            return query select * from queue.take_groups(
                p_queue_id => p_queue_id, p_max => p_max, p_share => p_share, p_visibility => p_visibility,
                p_max_receive_count => p_max_receive_count, p_dead_letter_arn => p_dead_letter_arn,
                p_sent_before => p_sent_before, p_response_bytes => p_response_bytes,
                p_response_format => p_response_format, p_again => false);
        end if;
    end if;
end $$;

-- queue.first_ready_at: returns the first time from p_from on at which a group is or becomes ready. Returns null if no
-- group is or becomes ready. Uses the index fifo_ready_visible_at.
create or replace function queue.first_ready_at(p_queue_id int, p_from timestamptz) returns timestamptz
language plpgsql as $$
begin
    return (
        select r.visible_at from queue.fifo_ready r
        where queue.fifo_key(r.queue_id) = queue.fifo_key(p_queue_id) and r.visible_at >= p_from
        order by r.visible_at limit 1);
end $$;

-- queue.store_search: stores where the next searches begin.
--   `p_search` is the row with which this search began.
--   `p_first_at` is the first entry that this search found.
--   `p_got_less` says whether the receive returned fewer messages than the client requested.
-- Each change to a group leaves a dead entry in the index by time. The entry stays while an old snapshot can read it. A
-- search from the beginning of the index passes all dead entries. The next search therefore begins at the first entry
-- that this search found. However, a transaction that commits late adds an entry with an earlier time. A search
-- therefore begins at one of three places.
--   Usually, a search begins at the stored time. This time is at least 0.1 seconds before the search that stored the
--   time. After another 0.1 seconds, a search stores a new time.
--   Once a second, a late search begins at `late_visible_at`. This time is at least 2 seconds before the last late
--   search, so a late search finds the entries of transactions that were open for up to 2 seconds.
--   Seldom, a full search begins at the beginning of the index. A full search finds every entry. The next full search
--   is due after a second if p_got_less is true, and otherwise after a minute. The interval is at least 50 times the
--   duration of this search.
-- Locks rows of queue.fifo_search and skips locked rows.
create or replace function queue.store_search(
    p_queue_id int, p_search queue.fifo_search, p_full boolean, p_late boolean, p_now timestamptz,
    p_first_at timestamptz, p_took interval, p_got_less boolean)
returns void
language plpgsql as $$
begin
    delete from queue.fifo_search s where s.ctid = any (array(
        select o.ctid from queue.fifo_search o where o.queue_id = p_queue_id for update skip locked));
    insert into queue.fifo_search (queue_id, searched_at, visible_at, late_at, late_visible_at, full_due_at, full_took)
    values (p_queue_id, p_now, least(p_first_at, p_now - interval '0.1 seconds'),
        case when p_late then p_now else p_search.late_at end,
        case when p_late then least(p_first_at, p_now - interval '2 seconds') else p_search.late_visible_at end,
        case when not p_full then p_search.full_due_at
            else p_now + greatest(50 * p_took, case when p_got_less then interval '1 second'
                else interval '1 minute' end) end,
        case when p_full then p_took else p_search.full_took end)
    on conflict do nothing;
end $$;

-- queue.note_passed_over: stores in queue.passed_over whether a receive passed over a group. The value is `on` if a
-- ready group's first message is too long for the response, and `off` otherwise. Uses the index fifo_ready_visible_at,
-- and the index of group_head.
create or replace function queue.note_passed_over(
    p_queue_id int, p_start timestamptz, p_now timestamptz, p_response_bytes int, p_response_format text)
returns void
language plpgsql as $$
begin
    perform set_config('queue.passed_over', case when exists (
        select from queue.fifo_ready r
        cross join lateral queue.group_head(r.group_key, r.first_id, p_response_bytes, p_response_format) h
        where queue.fifo_key(r.queue_id) = queue.fifo_key(p_queue_id)
            and r.visible_at between p_start and p_now and h.visible_at <= p_now and not h.fits)
        then 'on' else 'off' end, true);
end $$;

-- queue.group_fits: returns whether a receive with a limited response locks the group. The receive locks the group if
-- the response has room for its first message, or if the group is empty. The receive also locks the group if its first
-- message becomes a dead letter or was sent before p_sent_before. Is written in PL/pgSQL, which PostgreSQL does not
-- inline. An inlined function would cost other receives 3 % (one message, 2026-11-26), because the executor prepares
-- the subquery without running it.
create or replace function queue.group_fits(
    p_group_key bigint, p_first_id bigint, p_response_bytes int, p_response_format text, p_max_receive_count int,
    p_sent_before timestamptz)
returns boolean
language plpgsql stable as $$
begin
    return (
        select h.fits or h.sent_at < p_sent_before or coalesce(h.receive_count >= p_max_receive_count, false)
        from queue.group_head(p_group_key, p_first_id, p_response_bytes, p_response_format) h) is not false;
end $$;

-- queue.first_ready_messages: returns the visible messages at the head of a FIFO group, at most p_limit. Ends the list
-- before the first message that is invisible or too long for the response (pass_over). A message that was sent before
-- p_sent_before counts as visible, because an expired message must not block other messages.
--   `p_first_id` is at most the lowest id of the group's messages.
--   `ids` is null if the group has no visible message.
--   `ctids` contains the rows' ctids, which stay valid while the caller has locked the group.
--   `receive_count` is the count of the first message.
--   `sent_at` is the earliest send time of the first p_limit messages.
-- Uses the index fifo_message_of_group.
create or replace function queue.first_ready_messages(
    p_group_key bigint, p_first_id bigint, p_limit int, p_now timestamptz, p_sent_before timestamptz,
    p_response_bytes int, p_response_format text)
returns table (ids bigint[], ctids tid[], receive_count int, sent_at timestamptz)
language sql stable as $$
select array_agg(h.id order by h.id) filter (where h.ready),
    array_agg(h.message_ctid order by h.id) filter (where h.ready),
    (array_agg(h.receive_count order by h.id))[1], min(h.sent_at)
from (select m.id, m.message_ctid, m.receive_count, m.sent_at,
          bool_and((m.visible_at <= p_now and m.fits) or m.sent_at < p_sent_before) over (order by m.id) as ready
      from (select f.id, f.ctid as message_ctid, f.visible_at, f.receive_count, f.sent_at,
                queue.fits(f.response_bytes, p_response_bytes, p_response_format) as fits
            from queue.fifo_message f
            where f.group_key = p_group_key and f.group_key > 0 and f.id >= p_first_id order by f.id limit p_limit) m) h
$$;

-- queue.dead_letter_group: moves the first messages of a group to the FIFO dead-letter queue. Moves visible messages
-- that were received p_max_receive_count times, at most 100 in a call. The messages keep their group and order. The
-- message id becomes the deduplication id, and the retention period starts again. AWS defines both rules (Developer
-- Guide, "dead-letter queue redrive" and "Using dead-letter queues"). Deletes messages that were sent before
-- p_sent_before, because these messages have expired. `is_done` is false if more messages must move, or if another
-- transaction has locked the target's group. The caller then must not return a message from the group. The caller has
-- locked the group's row, and calls note_dead_lettered with the sum of `messages`. Locks the target's group row without
-- waiting, because two queues can share a dead-letter queue.
create or replace function queue.dead_letter_group(
    p_queue_id int, p_group_key bigint, p_now timestamptz, p_max_receive_count int, p_dead_letter_arn text,
    p_sent_before timestamptz, out is_done boolean, out messages int, out target_id int)
language plpgsql as $$
declare
    v_group_id text;
    v_target_key bigint;
    v_ids bigint[];
begin
    is_done := true;
    messages := 0;
    if (select h.sent_at from queue.first_group_message(p_group_key) h) < p_sent_before then
        perform queue.purge_group(p_queue_id, p_group_key, p_sent_before);
    end if;
    -- The messages to move
    v_ids := array(
        select head.id from (
            select m.id,
                bool_and(m.visible_at <= p_now and m.receive_count >= p_max_receive_count) over (order by m.id) as due
            from (select f.id, f.visible_at, f.receive_count from queue.fifo_message f
                  where f.group_key = p_group_key and f.group_key > 0
                    and f.id >= (select h.first_id from queue.first_group_message(p_group_key) h)
                  order by f.id limit 100) m) head
        where head.due);
    -- The target queue, and the group in it
    select q.queue_id into target_id from queue.queues q where q.arn = p_dead_letter_arn and q.fifo;
    if v_ids = '{}' or target_id is null then
        return;
    end if;
    select g.group_id into v_group_id from queue.fifo_group g where g.group_key = p_group_key;
    v_target_key := queue.try_lock_group(target_id, v_group_id);
    if v_target_key is null then
        is_done := false;
        return;
    end if;
    -- The move
    insert into queue.fifo_message
    select r.* from queue.remove_group_messages(p_queue_id, p_group_key, v_ids, 'dead_lettered', p_now) m
    cross join lateral jsonb_populate_record(m::queue.fifo_message, jsonb_build_object(
        'id', nextval('queue.fifo_id'), 'group_key', v_target_key, 'sent_at', p_now,
        'deduplication_id', m.message_id)
        || queue.dead_letter_columns(p_queue_id, target_id, p_now, queue.public_id(queue.fifo_shard(), m.id),
            m.message_id, m.sent_at, m.system, m.attributes, m.receive_count, null)) r;
    perform queue.update_groups(array[v_target_key]);
    messages := cardinality(v_ids);
    is_done := messages < 100;
end $$;
