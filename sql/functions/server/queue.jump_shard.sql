-- queue.jump_shard(queue, shard): lets the ids of a shard go on 2^32 above the last one; false when the shard has a writer
-- now. Messages would need days at a million a second to use up as many. Ids stay below 2^53 as SQL and REST show them
-- (queue.public_id), where JSON's numbers end in many languages, for 8,000 jumps.
-- Locks: advisory, writer of the shard, to the end of the transaction. Index: lease_pkey, log_pkey, hole_pkey.
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
    if v_last is not null then      -- else the queue was deleted meanwhile
        insert into queue.hole (queue_id, shard, id) values (p_queue_id, p_shard, v_last + 4294967296);
        insert into queue.id_jump (queue_id, shard, first_id, last_id)
        values (p_queue_id, p_shard, v_last + 1, v_last + 4294967296);
    end if;
    return true;
end $$;
