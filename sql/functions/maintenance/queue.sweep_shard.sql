-- queue.sweep_shard(queue, shard, low, pos): deletes finished messages behind a lease that stays open for long, such as
-- one with messages of a noisy tenant, which are skipped while other tenants have to wait. A call handles one range, as
-- large as that of clean_shard, without the last 2,000 messages, most of which are still in flight. Open leases stay for
-- a later round, which begins when the shard has doubled in size; thus the sweep reads a message a constant number of
-- times. The caller is the shard's reader. Locks: the row in queue.sweep.
create or replace function queue.sweep_shard(p_queue_id int, p_shard int, p_low bigint, p_pos bigint) returns void
language plpgsql as $$
declare
    v_sweep queue.sweep;
    v_to bigint;
begin
    select * into v_sweep from queue.sweep s where s.queue_id = p_queue_id and s.shard = p_shard;
    if v_sweep.pos is null or p_pos >= v_sweep.again_at then
        v_sweep.pos := p_low;
        v_sweep.again_at := p_pos + least(p_pos - p_low, 10000000);     -- ids may have jumped between the two
    end if;
    v_sweep.pos := greatest(v_sweep.pos, p_low);
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
