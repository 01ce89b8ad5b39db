-- queue.take_groups: hands out messages of a FIFO queue, group after group, the longest ready first. Of a group it
-- takes only the messages before the first invisible one: no message overtakes one in flight.
-- The first p_share rows are for one receiver, the next p_share rows for the next one. No two receivers get messages of
-- one group, since a call takes messages of a group once, for one receiver.
-- Where it begins to search: each change of a group leaves a dead entry in the index by time (of queue.fifo_ready), which
-- stays as long as an old snapshot may read it, and a search from the beginning of the index passes all of them. So
-- queue.fifo_search stores the time of the first entry that was found, and the next search begins there. But a transaction
-- that commits late adds an entry with an earlier time. Hence there are three places to begin at:
--   usually: the stored time, at least 0.1 seconds before the search that stored it. When that search is 0.1 seconds old,
--     this one looks for the first entry again and stores its time.
--   once a second: a second stored time, at least 2 seconds before the last search of this kind. This finds the entries of
--     transactions that were open for up to 2 seconds.
--   seldom: the beginning of the index. This finds all. It is due again in a second if this receive got less than it asked
--     for, else in a minute, but not before 50 times as long as it took: so it takes a fiftieth of the time at most.
-- p_answer_bytes, p_answer_format: as receive_messages. A group whose first message is passed over waits: it stays ready
--   for other receives, and this one reads that message but does not lock the group, unless the message is to become a dead
--   letter. After a receive that found nothing, the setting queue.passed_over says whether there is such a group.
-- Locks: the groups' rows, skipped when locked. Index: fifo_ready_visible_at, fifo_ready_pkey, fifo_message_of_group.
create or replace function queue.take_groups(
    p_queue_id int, p_max int, p_share int, p_visibility interval, p_max_receive_count int, p_dead_letter_arn text,
    p_answer_bytes int, p_answer_format text)
returns setof queue.received_row
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_limit int := p_max / p_share + 1;
    v_groups bigint[];
    v_firsts bigint[];
    v_seen bigint[] := '{}';
    v_ids bigint[] := '{}';
    v_places tid[] := '{}';     -- ctids: a plan by id, if made for a small table, scans a whole index for each
    v_taken bigint[] := '{}';
    v_first_ids bigint[] := '{}';
    v_ready record;
    v_capacity int;
    v_search queue.fifo_search;
    v_full boolean;
    v_late boolean;
    v_again boolean;
    v_start timestamptz;
    v_took interval;
    v_redelivered boolean := false;
begin
    select * into v_search from queue.fifo_search s
    where s.queue_id = p_queue_id order by s.searched_at desc limit 1;
    v_full := (v_search.searched_at <= v_now and v_search.full_due_at > v_now) is not true;
    v_late := v_full or v_search.late_at < v_now - interval '1 second';
    v_again := v_late or v_search.searched_at < v_now - interval '0.1 seconds';
    v_start := case when v_full then '-infinity' when v_late then v_search.late_visible_at else v_search.visible_at end;
    if v_again then
        v_start := coalesce((
            select r.visible_at from queue.fifo_ready r
            where queue.time_key(r.queue_id, -2) = queue.time_key(p_queue_id, -2) and r.visible_at >= v_start
            order by r.visible_at limit 1), v_now);
        v_took := clock_timestamp() - v_now;
    end if;
    loop        -- few groups first, since other receivers cannot take groups that this call locks and does not use
        select coalesce(array_agg(l.group_key), '{}'), array_agg(l.first_id) into v_groups, v_firsts
        from (
            select g.group_key, r.first_id from queue.fifo_ready r join queue.fifo_group g on g.group_key = r.group_key
            where queue.time_key(r.queue_id, -2) = queue.time_key(p_queue_id, -2)
                and r.visible_at between v_start and v_now and r.group_key <> all (v_seen)
                and (p_answer_bytes is null or queue.group_fits(r.group_key, r.first_id, p_answer_bytes, p_answer_format,
                    p_max_receive_count))
            order by r.visible_at, r.group_key limit v_limit for update of g skip locked) l;
        for v_ready in
            select u.group_key, u.first_id, h.ids, h.places, h.receive_count
            from unnest(v_groups, v_firsts) with ordinality u(group_key, first_id, n)
            cross join lateral queue.first_ready_messages(u.group_key, u.first_id, least(p_share, p_max), v_now,
                p_answer_bytes, p_answer_format) h
            order by u.n
        loop
            v_capacity := least(p_share - cardinality(v_ids) % p_share, p_max - cardinality(v_ids));
            exit when v_capacity <= 0;
            -- no message of a group has been received more often than one before it
            v_redelivered := v_redelivered or v_ready.receive_count > 0;
            if v_ready.receive_count >= p_max_receive_count then
                if queue.dead_letter_group(p_queue_id, v_ready.group_key, v_now, p_max_receive_count, p_dead_letter_arn)
                then
                    select h.ids, h.places into v_ready.ids, v_ready.places
                    from queue.first_ready_messages(v_ready.group_key, v_ready.first_id, v_capacity, v_now,
                        p_answer_bytes, p_answer_format) h;
                else
                    v_ready.ids := null;
                end if;
            end if;
            if v_ready.ids is null then     -- update_groups changes nothing of a group that is ready and passed over
                perform queue.update_groups(array[v_ready.group_key]);
            else
                v_ids := v_ids || v_ready.ids[:v_capacity];
                v_places := v_places || v_ready.places[:v_capacity];
                v_taken := v_taken || v_ready.group_key;
                v_first_ids := v_first_ids || v_ready.ids[1];
            end if;
        end loop;
        exit when cardinality(v_groups) < v_limit or cardinality(v_ids) >= p_max;
        v_seen := v_seen || v_groups;
        v_limit := least(4 * v_limit, p_max - cardinality(v_ids) + 100);
    end loop;
    -- An empty receive writes only what spares the next one a long search, or that a search does not take long any more:
    -- next_ready_at says that the queue is ready as long as one of those is due.
    if v_again and (v_ids <> '{}' or v_took > interval '5 milliseconds'
        or (v_full and v_search.full_took > interval '5 milliseconds'))
    then
        delete from queue.fifo_search s where s.ctid = any (array(
            select o.ctid from queue.fifo_search o where o.queue_id = p_queue_id for update skip locked));
        insert into queue.fifo_search (queue_id, searched_at, visible_at, late_at, late_visible_at, full_due_at, full_took)
        values (p_queue_id, v_now, least(v_start, v_now - interval '0.1 seconds'),
            case when v_late then v_now else v_search.late_at end,
            case when v_late then least(v_start, v_now - interval '2 seconds') else v_search.late_visible_at end,
            case when not v_full then v_search.full_due_at
                else v_now + greatest(50 * v_took, case when cardinality(v_ids) < p_max then interval '1 second'
                    else interval '1 minute' end) end,
            case when v_full then v_took else v_search.full_took end)
        on conflict do nothing;
    end if;
    if v_ids = '{}' then
        if p_answer_bytes is not null then
            perform set_config('queue.passed_over', case when exists (
                select from queue.fifo_ready r
                cross join lateral queue.group_head(r.group_key, r.first_id, p_answer_bytes, p_answer_format) h
                where queue.time_key(r.queue_id, -2) = queue.time_key(p_queue_id, -2)
                    and r.visible_at between v_start and v_now and h.visible_at <= v_now and not h.fits)
                then 'on' else 'off' end, true);
        end if;
        return;
    end if;
    if v_redelivered then
        insert into queue.activity (queue_id, redelivered)
        select p_queue_id, count(*) from queue.fifo_message m where m.ctid = any (v_places) and m.receive_count > 0
        having count(*) > 0;
    end if;
    return query
    with taken as (
        update queue.fifo_message m
        set visible_at = v_now + p_visibility, receive_count = m.receive_count + 1,
            first_received_at = coalesce(m.first_received_at, v_now),
            redelivered_at = case when m.receive_count > 0 then queue.add_redelivery(m.redelivered_at, v_now) end
        where m.ctid = any (v_places)
        returning m.*)
    select d.* from taken t cross join lateral queue.delivery_row(p_fifo => t::queue.fifo_message) d
    order by array_position(v_ids, t.id);
    with replaced as (
        delete from queue.fifo_ready r where r.ctid = any (array(
            select (select f.ctid from queue.fifo_ready f
                    where f.group_key = u.group_key order by f.version desc limit 1)
            from unnest(v_taken) u(group_key))))
    insert into queue.fifo_ready (group_key, queue_id, visible_at, first_id)
    select u.group_key, p_queue_id, v_now + p_visibility, u.first_id from unnest(v_taken, v_first_ids) u(group_key, first_id);
end $$;
