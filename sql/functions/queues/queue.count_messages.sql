-- queue.count_messages: returns the numbers of visible, in-flight and delayed messages. The counts omit messages whose
-- retention is over.
--   `total` is the number of ids that the log has assigned, plus the number of messages in the side table (queue.side).
--   For a FIFO queue, `total` is the number of messages now.
--   `oldest` and `newest` are the times at which the oldest and the newest message entered the queue. Age counts from
--     the move to a dead-letter queue (ApproximateAgeOfOldestMessage), and retention from the sending (Developer Guide,
--     "Setting-up dead-letter queue retention in Amazon SQS").
--   `first_sent` is the time at which the first message was sent, including messages whose retention is over.
-- Costs two index probes for each shard, and reads the open leases and the side table. For a FIFO queue, reads every
-- message.
create or replace function queue.count_messages(
    p_queue_id int, p_fifo boolean, p_shards int, out visible bigint, out in_flight bigint, out delayed bigint,
    out total bigint, out oldest timestamptz, out newest timestamptz, out first_sent timestamptz)
language plpgsql stable as $$
declare
    v_now timestamptz := clock_timestamp();
    v_before timestamptz := v_now - (
        select q.retention_seconds from queue.queues q where q.queue_id = p_queue_id) * interval '1 second';
begin
    if p_fifo then
        select count(*) filter (where m.visible_at <= v_now and m.sent_at >= v_before),
            count(*) filter (where m.visible_at > v_now and m.receive_count > 0 and m.sent_at >= v_before),
            count(*) filter (where m.visible_at > v_now and m.receive_count = 0 and m.sent_at >= v_before),
            count(*), min(m.sent_at) filter (where m.sent_at >= v_before), max(m.sent_at), min(m.sent_at)
        into visible, in_flight, delayed, total, oldest, newest, first_sent
        from queue.fifo_group g
        cross join lateral (
            select r.first_id from queue.fifo_ready r
            where r.group_key = g.group_key order by r.version desc limit 1) r
        cross join lateral (    -- This condition excludes lower ids, whose entries an old snapshot retains.
            select f.visible_at, f.receive_count, f.sent_at from queue.fifo_message f
            where f.group_key = g.group_key and f.group_key > 0 and f.id >= r.first_id offset 0) m
        where g.queue_id = p_queue_id;
        return;
    end if;
    -- The cursor and the end of each shard
    with cursor as materialized (
        select s.shard, c.pos, c.low, t.sent_at as newest,
            greatest(c.pos, t.id, (select max(h.id) from queue.hole h
                                   where h.queue_id = p_queue_id and h.shard = s.shard)) as top,
            (select l.sent_at from queue.log l
             where l.queue_id = p_queue_id and l.shard = s.shard and l.id > c.pos order by l.id limit 1) as oldest,
            (select count(*) from queue.hole h
             where h.queue_id = p_queue_id and h.shard = s.shard and h.id > c.pos) as holes,
            -- The last id of each range over which the shard jumped is also a hole.
            (select sum(j.last_id - j.first_id) from queue.id_jump j
             where j.queue_id = p_queue_id and j.shard = s.shard and j.last_id > c.pos) as jumped,
            (select sum(j.last_id - j.first_id + 1) from queue.id_jump j
             where j.queue_id = p_queue_id and j.shard = s.shard) as never_given
        from generate_series(0, p_shards - 1) s(shard)
        cross join lateral (
            select x.pos, x.low from queue.lease x
            where x.queue_id = p_queue_id and x.shard = s.shard order by x.pos desc limit 1) c
        left join lateral (
            select l.id, l.sent_at from queue.log l
            where l.queue_id = p_queue_id and l.shard = s.shard and l.id > c.pos
            order by l.id desc limit 1) t on true),
    fresh as materialized (     -- This query excludes messages past their retention at the head of a shard.
        select c.*, a.gone, case when c.oldest >= v_before then c.oldest else a.oldest end as oldest_left
        from cursor c
        left join lateral (
            select count(*) as gone, f.sent_at as oldest
            from (select) one
            left join lateral (
                select l.id, l.sent_at from queue.log l
                where l.queue_id = p_queue_id and l.shard = c.shard and l.id > c.pos and l.sent_at >= v_before
                order by l.id limit 1) f on true
            join queue.log g on g.queue_id = p_queue_id and g.shard = c.shard and g.id > c.pos
                and g.id < coalesce(f.id, 9223372036854775807)
            group by f.sent_at) a on c.oldest < v_before),
    leased as (
        select x.visible_at <= v_now or x.visible_at = 'infinity' as ready, o.sent_at as first_sent,
            case when o.sent_at >= v_before then cardinality(x.ids) else n.messages end as messages,
            case when o.sent_at >= v_before then o.sent_at else n.oldest end as oldest
        from cursor c
        join queue.lease x on x.queue_id = p_queue_id and x.shard = c.shard and x.pos > c.low and x.ids <> '{}'
        left join queue.log o on o.queue_id = p_queue_id and o.shard = c.shard and o.id = x.ids[1]
        left join lateral (
            select count(*) as messages, min(l.sent_at) as oldest from queue.log l
            where l.queue_id = p_queue_id and l.shard = c.shard and l.id = any (x.ids)
                and l.id between x.first_id and x.pos
                and l.sent_at >= v_before) n on o.sent_at < v_before),
    slow as (
        select s.visible_at <= v_now as ready, s.receive_count > 0 as received,
            s.shard = queue.side_shard() as born_here,
            coalesce(s.entered_at, s.sent_at) as entered_at, s.sent_at, s.sent_at >= v_before as kept
        from queue.side s where s.queue_id = p_queue_id)
    -- The sums
    select coalesce(c.visible, 0) + coalesce(l.ready, 0) + coalesce(s.ready, 0),
        coalesce(l.in_flight, 0) + coalesce(s.in_flight, 0), coalesce(s.delayed, 0),
        coalesce(c.total, 0) + coalesce(s.total, 0), least(c.oldest, l.oldest, s.oldest),
        greatest(c.newest, l.newest, s.newest), least(c.first_sent, l.first_sent, s.first_sent)
    into visible, in_flight, delayed, total, oldest, newest, first_sent
    from (select sum(k.top - k.pos - k.holes - coalesce(k.jumped, 0) - coalesce(k.gone, 0)) as visible,
            sum(k.top - coalesce(k.never_given, 0)) as total, min(k.oldest_left) as oldest,
            max(k.newest) as newest, min(k.oldest) as first_sent from fresh k) c,
        (select sum(k.messages) filter (where k.ready) as ready,
            sum(k.messages) filter (where not k.ready) as in_flight, min(k.oldest) as oldest,
            max(k.oldest) as newest, min(k.first_sent) as first_sent from leased k) l,
        (select count(*) filter (where k.ready and k.kept) as ready,
            count(*) filter (where not k.ready and k.received and k.kept) as in_flight,
            count(*) filter (where not k.ready and not k.received and k.kept) as delayed,
            count(*) filter (where k.born_here) as total, min(k.entered_at) filter (where k.kept) as oldest,
            max(k.entered_at) as newest, min(k.sent_at) as first_sent
         from slow k) s;
end $$;
