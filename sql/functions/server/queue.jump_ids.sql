-- queue.jump_ids(limit): lets the shards of the next p_limit queues jump over 2^32 ids (check_server), and shards that had
-- a writer before. Returns how many queues it handled; 0: none is left, except shards that have a writer now.
-- Locks: the row in queue.server; advisory, writers of the shards, never waited for.
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
