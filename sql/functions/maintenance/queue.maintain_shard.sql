-- queue.maintain_shard(queue, shard, before): does what receives do only now and then: it cleans finished messages, and
-- moves old leases to the slow path: leases far behind the cursor that have been open for 10 seconds, and leases whose
-- first message was sent before p_before, so that its retention is over. Returns about how many messages it cleaned.
-- Does nothing when the shard has a reader now. Locks: advisory, reader of the shard.
create or replace function queue.maintain_shard(p_queue_id int, p_shard int, p_before timestamptz)
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
    v_due := exists (       -- the first open lease has the oldest messages
        select from queue.log l
        where l.queue_id = p_queue_id and l.shard = p_shard and l.sent_at < p_before and l.id = (
            select x.ids[1] from queue.lease x
            where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > v_cursor.low and x.ids <> '{}'
            order by x.pos limit 1));
    for v_lease in
        select x.pos, x.receive_count, x.ids, x.visible_at from queue.lease x
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > v_cursor.low and x.ids <> '{}'
            and ((x.pos < v_cursor.pos - 10000 and x.visible_at < 'infinity'
                    and coalesce(x.first_received_at, '-infinity') < v_now - interval '10 seconds') or (v_due and exists (
                select from queue.log l
                where l.queue_id = p_queue_id and l.shard = p_shard and l.id = x.ids[1] and l.sent_at < p_before)))
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
    return least(v_low - v_cursor.low, 20000);      -- ids may have jumped between the two
end $$;
