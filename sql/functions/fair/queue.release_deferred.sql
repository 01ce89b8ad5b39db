-- queue.release_deferred(queue, shards): makes the skipped messages of noisy tenants the next to be handed out.
-- A shard that has a reader now is left out. Locks: advisory, readers of the shards.
create or replace function queue.release_deferred(p_queue_id int, p_shards int) returns void
language plpgsql as $$
declare
    v_watermark timestamptz;
begin
    if not exists (select from queue.deferred d where d.queue_id = p_queue_id) then
        return;
    end if;
    for v_shard in reverse p_shards - 1 .. 0 loop
        continue when not pg_try_advisory_xact_lock(queue.lock_key(1, p_queue_id, v_shard));
        select c.watermark into v_watermark from queue.lease c
        where c.queue_id = p_queue_id and c.shard = v_shard order by c.pos desc limit 1;
        update queue.lease x set visible_at = greatest(clock_timestamp(), v_watermark + interval '2 microseconds')
        where queue.time_key(x.queue_id, x.shard) = queue.time_key(p_queue_id, v_shard) and x.visible_at = 'infinity';
        delete from queue.deferred d where d.queue_id = p_queue_id and d.shard = v_shard;
    end loop;
end $$;
