-- queue.jump_ids: lets the shards of the next p_limit queues jump over 2^32 ids (check_server). Returns the number of
-- queues, or 0 if no queue remains. Also retries shards that had a writer at the time of an earlier call. Locks the row
-- in queue.server, and writers of the shards without waiting.
-- This file also contains jump_shard.
create or replace function queue.jump_ids(p_limit int) returns int
language plpgsql as $$
declare
    v_server queue.server;
    v_shard record;
    v_queues int := 0;
begin
    for v_shard in select j.queue_id, j.shard from queue.late_id_jump j limit p_limit loop
        if queue.jump_shard(v_shard.queue_id, v_shard.shard) then
            delete from queue.late_id_jump j where j.queue_id = v_shard.queue_id and j.shard = v_shard.shard;
        end if;
    end loop;
    select * into v_server from queue.server s where s.jump_after is not null for update skip locked;
    if v_server.jump_after is null then
        return 0;
    end if;
    for v_shard in
        select q.queue_id, s.shard
        from (select q.queue_id, q.shards from queue.queues q
              where q.queue_id > v_server.jump_after and not q.fifo order by q.queue_id limit p_limit) q
        cross join lateral generate_series(0, q.shards - 1) s(shard) order by q.queue_id, s.shard
    loop
        v_queues := v_queues + (v_shard.shard = 0)::int;
        v_server.jump_after := v_shard.queue_id;
        if not queue.jump_shard(v_shard.queue_id, v_shard.shard) then
            insert into queue.late_id_jump (queue_id, shard) values (v_shard.queue_id, v_shard.shard)
            on conflict do nothing;
        end if;
    end loop;
    update queue.server s set jump_after = case when v_queues > 0 then v_server.jump_after end;
    return v_queues;
end $$;

-- queue.jump_shard: makes a shard's ids continue 2^32 above the last id. Returns false if the shard has a writer now.
-- At a million messages per second, 2^32 ids last for more than an hour. Ids in SQL and REST (queue.public_id) stay
-- below 2^53 for 8,000 jumps. Many languages cannot represent greater JSON integers. Locks the writer of the shard
-- until the end of the transaction.
create or replace function queue.jump_shard(p_queue_id int, p_shard int) returns boolean
language plpgsql as $$
declare
    v_last bigint;
begin
    if not pg_try_advisory_xact_lock(queue.lock_key(0, p_queue_id, p_shard)) then
        return false;
    end if;
    select greatest(c.pos,
        (select l.id from queue.log l
         where l.queue_id = p_queue_id and l.shard = p_shard and l.id > c.pos order by l.id desc limit 1),
        (select max(h.id) from queue.hole h where h.queue_id = p_queue_id and h.shard = p_shard)) into v_last
    from (select x.pos from queue.lease x
          where x.queue_id = p_queue_id and x.shard = p_shard order by x.pos desc limit 1) c;
    if v_last is not null then      -- A null means that another transaction has deleted the queue.
        insert into queue.hole (queue_id, shard, id) values (p_queue_id, p_shard, v_last + 4294967296);
        insert into queue.id_jump (queue_id, shard, first_id, last_id)
        values (p_queue_id, p_shard, v_last + 1, v_last + 4294967296);
    end if;
    return true;
end $$;
