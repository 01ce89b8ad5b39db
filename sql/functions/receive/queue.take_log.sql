-- queue.take_log: receives messages from the log, shard by shard. Skips shards with another reader. If all shards with
-- messages have a reader, waits for a reader for a quarter of a second at most. Waits only if this transaction holds no
-- lock that a reader could wait for, so the wait cannot cause a deadlock. A transaction that waits has locked no row
-- (it has no transaction id), and reads no shard. The setting queue.reads says whether a transaction has read a shard.
--   `p_sent_before` is the time before which sent messages are past their retention.
--   `p_fair` is true if the function defers messages of noisy groups.
-- Locks the reader of the shard until the end of the transaction.
-- This file also contains take_shard, lease_nonce, take_expired, noisy_groups, find_noisy_groups and take_fair.
create or replace function queue.take_log(
    p_queue_id int, p_shards int, p_max int, p_lease_size int, p_visibility interval, p_max_receive_count int,
    p_dead_letter_arn text, p_sent_before timestamptz, p_fair boolean default true)
returns setof queue.received_row
language plpgsql as $$
declare
    v_shards int[];
    v_shard int;
    v_want int := p_max;
    v_rows int;
    v_held boolean := false;
    v_fair_shards int := case when p_fair then p_shards end;
    v_now timestamptz := clock_timestamp();
begin
    if p_shards = 1 then
        v_shards := array[0];
    else
        v_shards := array(select b.shard from queue.ready_shards(p_queue_id, p_shards, v_now) b);
    end if;
    foreach v_shard in array v_shards loop
        exit when v_want <= 0;
        if pg_try_advisory_xact_lock(queue.lock_key(1, p_queue_id, v_shard)) then
            v_held := true;
            perform set_config('queue.reads', 'on', true);
            return query select * from queue.take_shard(
                p_queue_id => p_queue_id, p_shard => v_shard, p_max => v_want, p_lease_size => p_lease_size,
                p_visibility => p_visibility, p_max_receive_count => p_max_receive_count,
                p_dead_letter_arn => p_dead_letter_arn, p_sent_before => p_sent_before, p_shards => v_fair_shards);
            get diagnostics v_rows = row_count;
            v_want := v_want - v_rows;
        end if;
    end loop;
    if not v_held and cardinality(v_shards) > 0 and pg_current_xact_id_if_assigned() is null
        and coalesce(current_setting('queue.reads', true), '') <> 'on'
        and queue.lock_reader_briefly(queue.lock_key(1, p_queue_id, v_shards[1]))
    then
        perform set_config('queue.reads', 'on', true);
        return query select * from queue.take_shard(
            p_queue_id => p_queue_id, p_shard => v_shards[1], p_max => v_want, p_lease_size => p_lease_size,
            p_visibility => p_visibility, p_max_receive_count => p_max_receive_count,
            p_dead_letter_arn => p_dead_letter_arn, p_sent_before => p_sent_before, p_shards => v_fair_shards);
    end if;
end $$;

-- queue.take_shard: receives up to p_max messages from one shard. Messages from expired leases come first, then
-- unreceived messages. A shard's time never falls behind its watermark, even if the clock goes back. `p_shards` is the
-- queue's number of shards. Null means that the function defers no messages of noisy groups. The caller is the shard's
-- reader. Uses the indexes lease_pkey, lease_visible_at and log_pkey.
create or replace function queue.take_shard(
    p_queue_id int, p_shard int, p_max int, p_lease_size int, p_visibility interval, p_max_receive_count int,
    p_dead_letter_arn text, p_sent_before timestamptz, p_shards int)
returns setof queue.received_row
language plpgsql as $$
declare
    v_cursor record;
    v_now timestamptz;
    v_watermark timestamptz;
    v_low bigint;
    v_want int := p_max;
    v_rows int;
    v_noisy text[];
    v_nonce int := queue.lease_nonce();
begin
    select c.pos, c.watermark, c.low, c.has_groups into v_cursor from queue.lease c
    where c.queue_id = p_queue_id and c.shard = p_shard order by c.pos desc limit 1;
    v_now := greatest(clock_timestamp(), v_cursor.watermark + interval '1 microsecond');
    v_watermark := v_now - interval '1 microsecond';
    -- Messages of expired leases
    if exists (select from queue.lease x
               where queue.time_key(x.queue_id, x.shard) = queue.time_key(p_queue_id, p_shard)
                   and x.visible_at > v_cursor.watermark and x.visible_at <= v_watermark and x.ids <> '{}') then
        return query select * from queue.take_expired(
            p_queue_id => p_queue_id, p_shard => p_shard, p_after => v_cursor.watermark, p_now => v_now,
            p_max => v_want, p_visibility => p_visibility, p_max_receive_count => p_max_receive_count,
            p_dead_letter_arn => p_dead_letter_arn, p_sent_before => p_sent_before);
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
        -- The watermark must not pass a lease that remains. A later receive moves the watermark.
        v_watermark := v_cursor.watermark;
    end if;
    if v_want <= 0 then
        return;
    end if;
    -- Clean the shard from time to time
    v_low := v_cursor.low;
    -- A receive cleans when the cursor passes a multiple of 2,000 ids, and only if more than 2,000 ids are not clean.
    if v_cursor.pos - v_low > 2000 and v_cursor.pos % 2000 < v_want then
        v_low := queue.clean_shard(p_queue_id, p_shard, v_low, v_cursor.pos);
    end if;
    -- Unreceived messages
    if v_cursor.has_groups and p_shards is not null then
        v_noisy := queue.noisy_groups(p_queue_id, p_shards, p_shard, v_cursor.pos, v_want, v_now);
    end if;
    if v_noisy is not null then
        return query select * from queue.take_fair(
            p_queue_id => p_queue_id, p_shard => p_shard, p_pos => v_cursor.pos, p_max => v_want,
            p_lease_size => p_lease_size, p_now => v_now, p_visibility => p_visibility, p_watermark => v_watermark,
            p_low => v_low, p_noisy => v_noisy, p_sent_before => p_sent_before);
    else
        return query
        with fresh as materialized (
            select l.* from queue.log l
            where l.queue_id = p_queue_id and l.shard = p_shard and l.id > v_cursor.pos
            order by l.id limit v_want),
        taken as materialized (
            select array_agg(f.id order by f.id) as ids, least(p_lease_size, count(*))::int as size,
                bool_or(f.system ? 'MessageGroupId') as has_groups
            from fresh f having bool_and(f.sent_at >= p_sent_before)),
        leased as (
            insert into queue.lease (pos, first_id, visible_at, first_received_at, watermark, low, queue_id,
                receive_count, shard, nonce, ids, has_groups)
            select p.ids[cardinality(p.ids)], p.ids[1], v_now + p_visibility, v_now, v_watermark, v_low, p_queue_id, 1,
                p_shard, v_nonce, p.ids, p.has_groups
            from (
                select t.ids[s.n : s.n + t.size - 1] as ids, t.has_groups
                from taken t cross join lateral generate_series(1, cardinality(t.ids), t.size) s(n)) p)
        select d.* from taken t cross join fresh f
        cross join lateral queue.build_received_row(f::queue.log,
            t.ids[least((width_bucket(f.id, t.ids) + t.size - 1) / t.size * t.size, cardinality(t.ids))], 1, v_now,
            v_now + p_visibility, v_nonce) d;
    end if;
    -- No message: delete expired messages, and try again
    if found then
        return;
    end if;
    if v_low > v_cursor.low then
        update queue.lease x set low = v_low
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = v_cursor.pos;
    end if;
    if queue.expire_unreceived(p_queue_id, p_shard, p_sent_before) then
        return query select * from queue.take_shard(
            p_queue_id => p_queue_id, p_shard => p_shard, p_max => v_want, p_lease_size => p_lease_size,
            p_visibility => p_visibility, p_max_receive_count => p_max_receive_count,
            p_dead_letter_arn => p_dead_letter_arn, p_sent_before => p_sent_before, p_shards => p_shards);
    end if;
end $$;

-- queue.lease_nonce: returns a random number above 0. The number and the lease's position together identify a lease.
create or replace function queue.lease_nonce() returns int
language sql volatile return 1 + floor(random() * 2147483647)::int;

-- queue.take_expired: receives messages again from a shard's leases that ended in (p_after, p_now). If the dead-letter
-- queue exists, messages that were received p_max_receive_count times move there. Messages that move keep their
-- MessageId, body and send time. Skips locked leases, because a consumer is acknowledging their messages. The caller is
-- the shard's reader. Uses the index lease_visible_at.
create or replace function queue.take_expired(
    p_queue_id int, p_shard int, p_after timestamptz, p_now timestamptz, p_max int, p_visibility interval,
    p_max_receive_count int, p_dead_letter_arn text, p_sent_before timestamptz)
returns setof queue.received_row
language plpgsql as $$
declare
    v_due record;
    v_lease queue.lease;
    v_want int := p_max;
    v_rows int;
    v_target int;
    v_moved_at timestamptz;
    v_dead_lettered int := 0;
    v_redelivered int := 0;
begin
    if p_max_receive_count is not null then
        select q.queue_id into v_target from queue.queues q where q.arn = p_dead_letter_arn and not q.fifo;
    end if;
    for v_due in
        select x::queue.lease as lease, exists (
            select from queue.log l
            where l.queue_id = p_queue_id and l.shard = p_shard and l.id between x.first_id and x.pos
                and l.sent_at < p_sent_before) as has_old
        from queue.lease x
        where queue.time_key(x.queue_id, x.shard) = queue.time_key(p_queue_id, p_shard)
            and x.visible_at > p_after and x.visible_at < p_now and x.ids <> '{}'
        -- The query returns up to 100 leases more, because all messages of some leases move or have expired.
        order by x.visible_at, x.pos limit p_max + 100 for update of x skip locked
    loop
        exit when v_want <= 0;
        v_lease := v_due.lease;
        if v_due.has_old then
            v_lease := queue.expire_leased(v_lease, p_sent_before);
            continue when v_lease.ids = '{}';
        end if;
        if v_lease.receive_count >= p_max_receive_count and v_target is not null then
            v_moved_at := clock_timestamp();
            insert into queue.side
            select r.* from (
                select * from queue.log l
                where l.queue_id = p_queue_id and l.shard = p_shard and l.id = any (v_lease.ids)
                    -- This condition limits the index scan.
                    and l.id between v_lease.first_id and v_lease.pos
                order by l.id) l
            cross join lateral jsonb_populate_record(null::queue.side, to_jsonb(l) || queue.side_dead_letter_columns(
                p_queue_id, v_target, v_moved_at, l.shard, l.id, l.message_id, l.sent_at, l.system, l.attributes,
                v_lease.receive_count, v_lease.first_received_at)) r;
            get diagnostics v_rows = row_count;
            v_dead_lettered := v_dead_lettered + v_rows;
            update queue.lease x
            set ids = '{}', done_at = v_moved_at, outcome = 'dead_lettered'
            where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = v_lease.pos;
            continue;
        end if;
        return query select * from queue.lease_again(v_lease, v_want, v_want, p_now, p_visibility);
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
        if v_lease.receive_count > 0 then
            v_redelivered := v_redelivered + v_rows;
        end if;
    end loop;
    if v_dead_lettered > 0 then
        perform queue.note_dead_lettered(p_queue_id, v_target, p_dead_letter_arn, v_dead_lettered);
    end if;
    if v_redelivered > 0 then
        insert into queue.activity (queue_id, redelivered) values (p_queue_id, v_redelivered);
    end if;
end $$;

-- queue.noisy_groups: returns the groups of a standard queue whose messages receives defer now, or null. Groups with
-- the fewest messages in flight come first. One receiver finds the noisy groups (find_noisy_groups), at most four times
-- a second. A group becomes noisy only while messages have to wait. Messages wait if the shard has more messages above
-- p_pos than the p_want messages of this receive. Locks the row in queue.noisy_neighbors until the end of the
-- transaction. A receiver that finds the row locked uses the stored result.
create or replace function queue.noisy_groups(
    p_queue_id int, p_shards int, p_shard int, p_pos bigint, p_want int, p_now timestamptz)
returns text[]
language plpgsql as $$
declare
    v_neighbors queue.noisy_neighbors;
begin
    select * into v_neighbors from queue.noisy_neighbors n where n.queue_id = p_queue_id;
    if v_neighbors.judged_at between p_now - interval '250 milliseconds' and p_now + interval '1 second'
        or (v_neighbors.noisy is null and not exists (
            select from (
                select l.id from queue.log l
                where l.queue_id = p_queue_id and l.shard = p_shard and l.id > p_pos
                order by l.id offset p_want limit 1) l))
    then
        return v_neighbors.noisy;
    end if;
    perform from queue.noisy_neighbors n where n.queue_id = p_queue_id for update skip locked;
    if found then
        v_neighbors.noisy := queue.find_noisy_groups(p_queue_id, p_shards, p_now);
        update queue.noisy_neighbors n set noisy = v_neighbors.noisy, judged_at = p_now where n.queue_id = p_queue_id;
    end if;
    return v_neighbors.noisy;
end $$;

-- queue.find_noisy_groups: returns the noisy groups of a standard queue, or null. Groups with the fewest messages in
-- flight come first. A group is noisy if it has more than a tenth of the messages in flight and at least 30 of them. A
-- group is also noisy if it has more than a tenth of the consumers' time and at least 2 messages in flight. The minimum
-- of 2 prevents one stuck message from making a group noisy. "How Amazon SQS fair queues work" (SQS Developer Guide)
-- has these rules, except the minimum of 2. A noisy group stays noisy until a receive has returned its deferred
-- messages. Reads a sample of the messages in flight. The sample has the 400 leases that end last, spread over the
-- shards, and 300 messages of the side table (queue.side). Messages without a group count as one group, which is never
-- noisy. Uses the indexes lease_visible_at, log_pkey and side_visible_at.
create or replace function queue.find_noisy_groups(p_queue_id int, p_shards int, p_now timestamptz) returns text[]
language sql stable as $$
with in_flight as (
    select l.system, x.first_received_at as received_at
    from generate_series(0, p_shards - 1) s(shard)
    cross join lateral (
        select x.ids, x.first_id, x.pos, x.visible_at, x.first_received_at from queue.lease x
        where queue.time_key(x.queue_id, x.shard) = queue.time_key(p_queue_id, s.shard)
            and x.visible_at > p_now and x.visible_at < 'infinity'
        order by x.visible_at desc limit 400 / p_shards) x      -- The condition below excludes finished leases.
    join queue.log l on l.queue_id = p_queue_id and l.shard = s.shard and l.id = any (x.ids)
        and l.id between x.first_id and x.pos         -- This condition limits the index scan.
    where x.ids <> '{}'
    union all
    (select r.system, r.first_received_at from queue.side r
    where queue.side_key(r.queue_id) = queue.side_key(p_queue_id) and r.visible_at > p_now
        and r.receive_count > 0
    order by r.visible_at desc limit 300)),
grouped as (
    select f.system ->> 'MessageGroupId' as group_id, count(*) as messages,
        sum(extract(epoch from p_now - f.received_at))::double precision as seconds
    from in_flight f group by 1),
busy as (
    select t.group_id, t.messages, t.messages > 0.1 * sum(t.messages) over () as crowds,
        t.seconds > 0.1 * sum(t.seconds) over () as occupies
    from grouped t),
noisy as (
    select b.group_id, b.messages from busy b
    where b.group_id is not null and ((b.crowds and b.messages >= 30) or (b.occupies and b.messages >= 2))
    union all
    select d.group_id, 0 from queue.deferred_groups(p_queue_id) d)
select array_agg(n.group_id order by n.messages, n.group_id)
from (select m.group_id, max(m.messages) as messages from noisy m group by m.group_id) n
$$;

-- queue.take_fair: receives a shard's unreceived messages, and defers noisy groups' messages. Reads up to 5,000
-- messages, 200 at a time. Deferred messages stay in the log. Stores each group's deferred messages in a lease without
-- a receiver. This lease ends at 'infinity' and has a row in queue.deferred, and take_deferred returns the lease's
-- messages. The other messages have normal leases of at most p_lease_size messages. These leases' ranges overlap. Each
-- of these leases therefore lists in `gone`, without a time, the ids in its range that belong to other leases. The
-- other leases record these ids. The caller holds the lock of the shard's reader. Uses the index log_pkey.
create or replace function queue.take_fair(
    p_queue_id int, p_shard int, p_pos bigint, p_max int, p_lease_size int, p_now timestamptz, p_visibility interval,
    p_watermark timestamptz, p_low bigint, p_noisy text[], p_sent_before timestamptz)
returns setof queue.received_row
language plpgsql as $$
declare
    v_pos bigint := p_pos;
    v_want int := p_max;
    v_next bigint;
    v_rows int;
    v_nonce int := queue.lease_nonce();
begin
    for v_step in 1 .. 25 loop
        return query
        with scanned as materialized (      -- The query omits the bodies, because each step would copy them.
            select l.id, l.system ->> 'MessageGroupId' as group_id, l.sent_at
            from queue.log l
            where l.queue_id = p_queue_id and l.shard = p_shard and l.id > v_pos
            order by l.id limit 200),
        -- The chunk contains the messages up to the last wanted message, and the messages of noisy groups behind it.
        chunk as materialized (
            select c.id, c.group_id, c.quiet, (c.number - 1) / p_lease_size as part from (
                select s.*, count(*) filter (where s.quiet) over (order by s.id) as number from (
                    select n.id, n.group_id, coalesce(n.group_id <> all (p_noisy), true) as quiet from scanned n) s) c
            where c.number <= v_want and (select bool_and(n.sent_at >= p_sent_before) from scanned n)),
        lease as materialized (
            select max(c.id) as pos, min(c.id) as first_id, p_now + p_visibility as visible_at, p_now as received_at,
                1 as receive_count, null as group_id, array_agg(c.id order by c.id) as ids
            from chunk c where c.quiet group by c.part
            union all
            select max(c.id), min(c.id), 'infinity', null, 0, c.group_id, array_agg(c.id order by c.id)
            from chunk c where not c.quiet group by c.group_id),
        leased as (
            insert into queue.lease (pos, first_id, visible_at, first_received_at, watermark, low, queue_id,
                receive_count, shard, nonce, ids, gone, gone_at, has_groups)
            select e.pos, e.first_id, e.visible_at, e.received_at, p_watermark, p_low, p_queue_id, e.receive_count,
                p_shard, v_nonce, e.ids, o.gone, o.gone_at, true
            from lease e
            cross join lateral (
                select array_agg(g.id) as gone, array_agg(null::timestamptz) as gone_at
                from chunk g where g.id between e.first_id and e.pos and g.id <> all (e.ids)) o),
        deferred as (
            insert into queue.deferred (queue_id, group_id, deferred_at, shard, pos, ids)
            select p_queue_id, e.group_id, p_now, p_shard, e.pos, e.ids from lease e where e.receive_count = 0)
        select d.* from (select k.id, max(k.id) over (partition by k.part) as pos from chunk k where k.quiet) c
        join queue.log l on l.queue_id = p_queue_id and l.shard = p_shard and l.id = c.id
        cross join lateral queue.build_received_row(l, c.pos, 1, p_now, p_now + p_visibility, v_nonce) d
        order by c.id;
        get diagnostics v_rows = row_count;
        v_want := v_want - v_rows;
        exit when v_want <= 0;
        select c.pos into v_next from queue.lease c
        where c.queue_id = p_queue_id and c.shard = p_shard order by c.pos desc limit 1;
        -- If no position follows, the log has ended, or the retention of the next messages is over.
        if v_next = v_pos then
            exit when not queue.expire_unreceived(p_queue_id, p_shard, p_sent_before);
            select c.pos into v_next from queue.lease c
            where c.queue_id = p_queue_id and c.shard = p_shard order by c.pos desc limit 1;
        end if;
        v_pos := v_next;
    end loop;
end $$;
