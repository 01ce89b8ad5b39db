-- queue.purge_shard: purges a shard's messages. Returns the number of messages. Ends all leases and moves the cursor
-- behind the unreceived messages. If p_sent_before is not null, only moves the cursor behind messages that were sent
-- before p_sent_before, and counts them as expired. In that case, deletes at most 10,000 messages, and does nothing if
-- the shard has a reader. The function maintain_shard ends the leases. Locks the shard's reader, then the leases' rows.
create or replace function queue.purge_shard(p_queue_id int, p_shard int, p_sent_before timestamptz default null)
returns bigint
language plpgsql as $$
declare
    v_cursor record;
    v_now timestamptz := clock_timestamp();
    v_last_id bigint;
    v_unreceived bigint;
    v_leased bigint := 0;
begin
    if p_sent_before is null then
        perform pg_advisory_xact_lock(queue.lock_key(1, p_queue_id, p_shard));
    elsif not pg_try_advisory_xact_lock(queue.lock_key(1, p_queue_id, p_shard)) then
        return 0;
    end if;
    select c.pos, c.watermark, c.low into v_cursor from queue.lease c
    where c.queue_id = p_queue_id and c.shard = p_shard order by c.pos desc limit 1;
    if p_sent_before is null then
        select l.id into v_last_id from queue.log l
        where l.queue_id = p_queue_id and l.shard = p_shard and l.id > v_cursor.pos order by l.id desc limit 1;
        select coalesce(sum(cardinality(x.ids)), 0) into v_leased from queue.lease x
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > v_cursor.low;
        update queue.lease x set ids = '{}', done_at = v_now, outcome = 'purged'
        where x.queue_id = p_queue_id and x.shard = p_shard and x.pos > v_cursor.low and x.ids <> '{}';
    else
        -- Among the first 10,000 messages, this query finds the last message before a message that stays. The search
        -- stops at the message that stays.
        select max(l.id) into v_last_id from (
            select k.id from queue.log k
            where k.queue_id = p_queue_id and k.shard = p_shard and k.id > v_cursor.pos and k.id < coalesce((
                select n.id from (
                    select s.id, s.sent_at from queue.log s
                    where s.queue_id = p_queue_id and s.shard = p_shard and s.id > v_cursor.pos
                    order by s.id limit 10000) n
                where n.sent_at >= p_sent_before limit 1), 9223372036854775807)
            order by k.id limit 10000) l;
    end if;
    if v_last_id is null then
        return v_leased;
    end if;
    with unreceived as (
        select l.id, row_number() over (order by l.id) as n from queue.log l
        where l.queue_id = p_queue_id and l.shard = p_shard and l.id > v_cursor.pos and l.id <= v_last_id),
    ended as (          -- Leases of 10,000 messages suit clean_shard, which deletes one lease at a time.
        insert into queue.lease (pos, first_id, visible_at, watermark, low, queue_id, receive_count, shard, ids,
            done_at, outcome)
        select max(u.id), min(u.id), '-infinity', v_cursor.watermark, v_cursor.low, p_queue_id, 0, p_shard, '{}', v_now,
            case when p_sent_before is null then 'purged' else 'expired' end
        from unreceived u group by (u.n - 1) / 10000)
    select count(*) into v_unreceived from unreceived;
    if p_sent_before is not null then
        perform queue.count_expired(p_queue_id, v_unreceived);
    end if;
    return v_leased + v_unreceived;
end $$;
