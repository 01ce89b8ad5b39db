-- queue.clean_shard: deletes the finished messages of a shard above p_low, up to the first unfinished message, and
-- records the deleted messages in the history. Returns the id up to which the shard is now clean. Cleans whole leases.
-- After a receive that deferred noisy groups, leases overlap (take_fair). The function cleans overlapping leases
-- together. The caller is the shard's reader and writes the result into the cursor's `low`. If the result is p_pos, the
-- cursor's row stays until the next cleaning. The function sweep_shard deletes finished messages after the first open
-- lease. A call cleans at most 20,000 ids, or one longer lease.
-- This file also contains clear_range, sweep_shard and lease_boundary.
create or replace function queue.clean_shard(p_queue_id int, p_shard int, p_low bigint, p_pos bigint) returns bigint
language plpgsql as $$
declare
    v_low bigint;
    v_open bigint;
    v_in_flight boolean;
begin
    select min(o.id) - 1, bool_and(o.in_flight) into v_open, v_in_flight
    from (      -- Leases that overlap the first open lease are among the next 200 leases.
        select x.ids[1] as id, x.visible_at < 'infinity' as in_flight from queue.lease x
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > p_low and x.pos <= p_pos and x.ids <> '{}'
        order by x.pos limit 200) o;
    if v_in_flight
        -- 40,000 ids above the first open leases of all shards can mean more than 20,000 messages in flight.
        and p_pos - v_open > 40000 / (select q.shards from queue.queues q where q.queue_id = p_queue_id)
    then        -- After messages were deferred, maintain_queue makes this decision.
        perform queue.update_in_flight_counting(p_queue_id, true);
    end if;
    v_low := queue.lease_boundary(p_queue_id, p_shard, p_low, coalesce(v_open, p_pos));
    if v_low is not null then
        perform queue.clear_range(p_queue_id, p_shard, p_low, v_low, p_pos);
        delete from queue.hole h
        where h.queue_id = p_queue_id and h.shard = p_shard and h.id > p_low and h.id <= v_low;
    end if;
    v_low := coalesce(v_low, p_low);
    if v_open is not null then
        perform queue.sweep_shard(p_queue_id, p_shard, v_low, p_pos);
    end if;
    return v_low;
end $$;

-- queue.clear_range: deletes the finished messages of a shard above p_after up to p_to, and records them in the
-- history. No lease crosses the ends of the range (lease_boundary). Records a lease's messages together. An open
-- lease's messages stay, even acknowledged messages. Reads the open leases once. If a consumer acknowledges a lease at
-- the same time, the lease stays for the next call. The cursor's row stays. The next cleaning begins at the cursor's
-- row and deletes the row. The caller is the shard's reader.
create or replace function queue.clear_range(p_queue_id int, p_shard int, p_after bigint, p_to bigint, p_cursor bigint)
returns void
language plpgsql as $$
declare
    v_done bigint[];
    v_kept bigint[];
    v_records boolean;
    v_before timestamptz;   -- The retention of messages that were sent before this time is over.
    v_late boolean;
begin
    -- The finished leases, and the messages that stay
    with leases as materialized (
        select x.pos, x.ids, x.gone, x.gone_at from queue.lease x
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos >= p_after and x.pos <= p_to)
    select
        (select array_agg(d.pos) from leases d where d.ids = '{}'),
        (select array_agg(k.id) from leases o cross join lateral (
            select unnest(o.ids) union all select g.id from unnest(o.gone, o.gone_at) g(id, at)
            where g.at is not null) k(id)
         where o.ids <> '{}' and k.id > p_after)
    into v_done, v_kept;
    select q.keeps_history, clock_timestamp() - q.retention_seconds * interval '1 second' into v_records, v_before
    from queue.queues q where q.queue_id = p_queue_id;
    if v_records then
        with recorded as (
            insert into queue.history (queue_id, outcome, receive_count, first_received_at, redelivered_at, entered_by,
                group_ids, sent_at, finished_at)
            select p_queue_id, m.outcome, x.receive_count, x.first_received_at, x.redelivered_at, m.entered_by,
                m.group_ids, m.sent_at, m.finished_at
            from queue.lease x
            cross join lateral (        -- With this inner aggregate, the planner reads each lease's range of the log.
                select e.outcome, f.entered_by,
                    case when count(f.group_id) > 0 then array_agg(f.group_id) end as group_ids,
                    array_agg(f.sent_at) as sent_at, array_agg(e.finished_at) as finished_at
                from (
                    select l.sent_at, l.system ->> 'MessageGroupId' as group_id,
                        queue.entered_by(l.system) as entered_by,
                        case when l.id = any (x.gone) then 'deleted' else coalesce(x.outcome, 'deleted') end as outcome,
                        case when l.id = any (x.gone) then x.gone_at[array_position(x.gone, l.id)] else x.done_at end
                            as finished_at
                    from queue.log l
                    where l.queue_id = p_queue_id and l.shard = p_shard and l.id >= x.first_id and l.id <= x.pos) f
                cross join lateral queue.ending(
                    p_queue_id, f.outcome, f.sent_at, null, x.first_received_at, f.finished_at) e
                where f.finished_at is not null     -- A null finished_at means that the message moved to queue.side.
                group by e.outcome, f.entered_by) m
            where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = any (v_done)
            returning outcome)
        select bool_or(r.outcome = 'expired') into v_late from recorded r;
    else    -- After a clock went back, any message of the range can be the oldest.
        v_late := exists (
            select from queue.log l
            where l.queue_id = p_queue_id and l.shard = p_shard and l.id > p_after and l.id <= p_to
                and l.sent_at < v_before);
    end if;
    if v_late then
        perform queue.count_late_deletions(x) from queue.lease x
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = any (v_done);
    end if;
    -- The deletion
    delete from queue.lease x
    where x.queue_id = p_queue_id and x.shard = p_shard and x.pos = any (v_done) and x.pos < p_cursor;
    if v_kept is null then
        delete from queue.log l
        where l.queue_id = p_queue_id and l.shard = p_shard and l.id > p_after and l.id <= p_to;
        return;
    end if;
    delete from queue.log l
    where l.queue_id = p_queue_id and l.shard = p_shard and l.id > p_after and l.id <= p_to and l.id = any (array(
        select e.id from (      -- With a join, the planner could scan the log once for each id that stays.
            select k.id from queue.log k
            where k.queue_id = p_queue_id and k.shard = p_shard and k.id > p_after and k.id <= p_to
            union all
            select unnest(v_kept)) e(id)
        group by e.id having count(*) = 1));
end $$;

-- queue.sweep_shard: deletes finished messages above a lease that remains open for a long time, for example because
-- receives defer the messages of a noisy group while other groups wait. Handles one range of clean_shard's size in a
-- call. Leaves the last 2,000 messages, because most of them are in flight. The next round begins when the shard has
-- doubled in size, so the sweep reads each message a constant number of times. The caller is the shard's reader. Locks
-- the row in queue.sweep.
create or replace function queue.sweep_shard(p_queue_id int, p_shard int, p_low bigint, p_pos bigint) returns void
language plpgsql as $$
declare
    v_sweep queue.sweep;
    v_to bigint;
begin
    select * into v_sweep from queue.sweep s where s.queue_id = p_queue_id and s.shard = p_shard;
    if v_sweep.pos is null or p_pos >= v_sweep.again_at then
        v_sweep.pos := p_low;
        v_sweep.again_at := p_pos + least(p_pos - p_low, 10000000);     -- Ids can have jumped in this range.
    end if;
    v_sweep.pos := greatest(v_sweep.pos, p_low);
    -- A sweep waits until at least 2,000 ids precede the last 2,000 ids.
    if p_pos - v_sweep.pos < 4000 then
        return;
    end if;
    v_to := queue.lease_boundary(p_queue_id, p_shard, v_sweep.pos, p_pos - 2000);
    if v_to is not null then
        perform queue.clear_range(p_queue_id, p_shard, v_sweep.pos, v_to, p_pos);
        insert into queue.sweep (queue_id, shard, pos, again_at) values (p_queue_id, p_shard, v_to, v_sweep.again_at)
        on conflict (queue_id, shard) do update set pos = excluded.pos, again_at = excluded.again_at;
    end if;
end $$;

-- queue.lease_boundary: returns the highest pos from p_low to p_max that no lease crosses. The result is at most 20,000
-- above p_low, unless the first possible pos is higher. Returns null if each pos is inside a lease. Leases overlap only
-- within 200 messages (take_fair), so a lease that overlaps another lease is among the next 200.
create or replace function queue.lease_boundary(p_queue_id int, p_shard int, p_low bigint, p_max bigint)
returns bigint
language plpgsql stable as $$
declare
    v_max bigint := least(p_max, p_low + 20000);
    v_end bigint;
    v_candidate bigint;
begin
    loop
        select max(x.pos) into v_end from queue.lease x
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > p_low and x.pos <= v_max;
        exit when v_end is null;
        select min(n.first_id) - 1 into v_candidate from (
            select x.first_id from queue.lease x
            where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > v_end order by x.pos limit 200) n;
        if coalesce(v_candidate >= v_end, true) then
            return v_end;
        end if;
        v_max := v_candidate;
    end loop;
    v_candidate := p_low;
    loop
        select min(x.pos) into v_end from queue.lease x
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > v_candidate;
        exit when v_end is null or v_end > p_max;
        select max(n.pos) into v_candidate from (
            select x.pos, x.first_id from queue.lease x
            where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > v_end order by x.pos limit 200) n
        where n.first_id <= v_end;
        if v_candidate is null then
            return v_end;
        end if;
        v_candidate := v_candidate - 1;
    end loop;
    return null;
end $$;
