-- queue.maintain_queue: cleans a queue and deletes expired messages. Returns the number of messages that it removed.
-- Also decides whether receives count messages in flight. In FIFO queues, removes groups that have been empty for a
-- minute, and repairs groups after the clock went back (rewind_groups). Removes up to 10,000 archived messages that are
-- older than the queue's `archive_seconds` (14 days), and up to 10,000 failures that are older than the queue's
-- retention. Starts at a random shard, and ends after the shard at which one second has passed. Uses the indexes
-- archive_queue and failure_failed_at.
-- This file also contains remove_empty_groups, rewind_groups and maintain_shard.
create or replace function queue.maintain_queue(p_queue_id int) returns bigint
language plpgsql as $$
declare
    v_queue queue.queues;
    v_now timestamptz := clock_timestamp();
    v_before timestamptz;
    v_messages bigint := 0;
    v_first int;
    v_shard int;
    v_old int[];        -- The array contains shards with messages past their retention.
begin
    perform queue.require_read_committed();
    select * into v_queue from queue.queues q where q.queue_id = p_queue_id;
    if v_queue.queue_id is null then
        return 0;
    end if;
    delete from queue.archive a where a.archive_id = any (array(     -- The order of archive_id is the order of time.
        select e.archive_id from (
            select o.archive_id, o.archived_at from queue.archive o
            where o.queue_id = p_queue_id order by o.archive_id limit 10000) e
        where e.archived_at < v_now
            - coalesce((v_queue.attributes ->> 'archive_seconds')::int, 1209600) * interval '1 second'));
    v_before := v_now - v_queue.retention_seconds * interval '1 second';
    delete from queue.failure f where f.ctid = any (array(
        select e.ctid from queue.failure e where e.queue_id = p_queue_id and e.failed_at < v_before
        order by e.failed_at limit 10000));
    if v_queue.fifo then
        v_messages := queue.purge_groups(p_queue_id, v_before);
        perform queue.remove_empty_groups(p_queue_id, 1000);
        perform queue.rewind_groups(p_queue_id, v_queue.arn, v_now, 1000);
        perform queue.update_in_flight_counting(p_queue_id);
        return v_messages;
    end if;
    v_old := array(
        select b.shard from queue.ready_shards(p_queue_id, v_queue.shards, v_now) b where b.since < v_before);
    v_first := floor(random() * v_queue.shards);
    for v_step in 0 .. v_queue.shards - 1 loop
        exit when clock_timestamp() > v_now + interval '1 second';
        v_shard := (v_first + v_step) % v_queue.shards;
        v_messages := v_messages + queue.maintain_shard(p_queue_id, v_shard, v_before);
        if v_shard = any (v_old) then
            v_messages := v_messages + queue.purge_shard(p_queue_id, v_shard, v_before);
        end if;
    end loop;
    delete from queue.deferred d
    -- The messages of these rows were deleted or are past their retention.
    where d.queue_id = p_queue_id and not exists (
        select from queue.lease x
        where x.queue_id = d.queue_id and x.shard = d.shard and x.pos = d.pos and x.ids <> '{}');
    v_messages := v_messages + queue.purge_side(p_queue_id, v_before);
    perform queue.update_in_flight_counting(
        p_queue_id, exists (select from queue.deferred d where d.queue_id = p_queue_id));
    return v_messages;
end $$;

-- queue.remove_empty_groups: removes up to p_limit groups that have been empty for a minute. Reads every group. Does
-- not use the index by time, because that index has an entry for each time that a group became empty, and an old
-- snapshot keeps these entries. Skips locked groups. Uses the index fifo_ready_pkey for the newest row of each group.
create or replace function queue.remove_empty_groups(p_queue_id int, p_limit int) returns void
language plpgsql as $$
declare
    v_groups bigint[];
begin
    v_groups := array(
        select g.group_key from queue.fifo_group g
        cross join lateral (
            select f.visible_at, f.changed_at from queue.fifo_ready f
            where f.group_key = g.group_key order by f.version desc limit 1) r
        where g.queue_id = p_queue_id and r.visible_at = 'infinity'
            and r.changed_at not between clock_timestamp() - interval '1 minute' and clock_timestamp()
        limit p_limit for update of g skip locked);
    -- This new statement also sees changes that committed before this transaction locked the rows.
    v_groups := array(
        select u.group_key from unnest(v_groups) u(group_key)
        where (select h.id from queue.first_group_message(u.group_key) h) is null);
    delete from queue.fifo_ready r where r.group_key = any (v_groups);
    delete from queue.fifo_group g where g.group_key = any (v_groups);
end $$;

-- queue.rewind_groups: repairs up to p_limit groups that wait for a time in the future, after the clock went back. A
-- message that was sent more than ten seconds after p_now, and was never received, counts as sent at p_now. The
-- message's delay starts then. A group whose first message is visible becomes ready. A group whose first message is in
-- flight waits, because no row has the message's visibility timeout. Skips locked groups. Uses the indexes
-- fifo_ready_visible_at and fifo_message_of_group.
create or replace function queue.rewind_groups(p_queue_id int, p_arn text, p_now timestamptz, p_limit int) returns void
language plpgsql as $$
declare
    v_ahead timestamptz := p_now + interval '10 seconds';
    v_groups bigint[];
begin
    v_groups := array(
        select g.group_key from queue.fifo_ready r
        join queue.fifo_group g on g.group_key = r.group_key
        cross join lateral queue.group_head(r.group_key, r.first_id, null, null) h
        where queue.fifo_key(r.queue_id) = queue.fifo_key(p_queue_id) and r.visible_at > v_ahead
            and r.visible_at < 'infinity'
            and (h.visible_at <= p_now or (h.receive_count = 0 and h.sent_at > v_ahead))
        limit p_limit for update of g skip locked);
    if v_groups = '{}' then
        return;
    end if;
    update queue.fifo_message m
    set sent_at = p_now,
        visible_at = case when m.visible_at < m.sent_at then m.visible_at else p_now + (m.visible_at - m.sent_at) end
    where m.group_key = any (v_groups) and m.group_key > 0 and m.receive_count = 0 and m.sent_at > v_ahead;
    perform queue.update_groups(v_groups);
    perform queue.notify_watchers(p_queue_id, p_arn);
end $$;

-- queue.maintain_shard: cleans finished messages and moves old leases to the side table (queue.side). Returns the
-- approximate number of cleaned messages. An old lease is far behind the cursor and has been open for 10 seconds, or
-- its first message was sent before p_sent_before and has expired. Has no effect if the shard has a reader now. Locks
-- the shard's reader.
create or replace function queue.maintain_shard(p_queue_id int, p_shard int, p_sent_before timestamptz)
returns bigint
language plpgsql as $$
declare
    v_cursor record;
    v_lease record;
    v_low bigint;
    v_due boolean;
    v_now timestamptz := clock_timestamp();
begin
    if not pg_try_advisory_xact_lock(queue.lock_key(1, p_queue_id, p_shard)) then
        return 0;
    end if;
    select c.pos, c.low into v_cursor from queue.lease c
    where c.queue_id = p_queue_id and c.shard = p_shard order by c.pos desc limit 1;
    if v_cursor.pos = v_cursor.low then
        return 0;
    end if;
    v_due := exists (       -- The first open lease has the oldest messages.
        select from queue.log l
        where l.queue_id = p_queue_id and l.shard = p_shard and l.sent_at < p_sent_before and l.id = (
            select x.ids[1] from queue.lease x
            where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > v_cursor.low and x.ids <> '{}'
            order by x.pos limit 1));
    for v_lease in
        select x.pos, x.receive_count, x.ids, x.visible_at from queue.lease x
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > v_cursor.low and x.ids <> '{}'
            -- A lease is far behind the cursor if 10,000 ids lie between the two.
            and ((x.pos < v_cursor.pos - 10000 and x.visible_at < 'infinity'
                    and coalesce(x.first_received_at, '-infinity') < v_now - interval '10 seconds')
                or (v_due and exists (
                select from queue.log l
                where l.queue_id = p_queue_id and l.shard = p_shard and l.id = x.ids[1] and l.sent_at < p_sent_before)))
        order by x.pos limit 100 for update skip locked
    loop
        perform queue.unlease_messages(p_queue_id, p_shard, v_lease.pos, v_lease.receive_count, v_lease.ids,
            case when v_lease.visible_at = 'infinity' then clock_timestamp() else v_lease.visible_at end);
    end loop;
    v_low := queue.clean_shard(p_queue_id, p_shard, v_cursor.low, v_cursor.pos);
    if v_low > v_cursor.low then
        update queue.lease x set low = v_low
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = v_cursor.pos;
    end if;
    return least(v_low - v_cursor.low, 20000);      -- Ids can have jumped in this range.
end $$;
