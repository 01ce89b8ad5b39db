-- queue.move_selected_side(queue, shards, ids, destination): moves messages of a standard queue; each is a row (shard, id) of
-- p_shards and p_ids, which can be received and has a queue to move to. Returns moved, and busy: a receive reads a shard of
-- some at this moment, try again. Others that did not move were received meanwhile.
-- Locks: the messages' rows, skipped when locked; as unlog_message.
create or replace function queue.move_selected_side(
    p_queue_id int, p_shards int[], p_ids bigint[], p_destination text, out moved int, out busy boolean)
language plpgsql as $$
declare
    v_places tid[];
begin
    busy := false;
    for v_n in 1 .. coalesce(cardinality(p_ids), 0) loop
        continue when p_shards[v_n] < 0 or exists (
            select from queue.side s where s.queue_id = p_queue_id and s.shard = p_shards[v_n] and s.id = p_ids[v_n]);
        if queue.unlog_message(p_queue_id, p_shards[v_n], p_ids[v_n]) = 'busy' then
            busy := true;
        end if;
    end loop;
    v_places := array(
        select s.ctid from unnest(p_shards, p_ids) u(shard, id)
        join queue.side s on s.queue_id = p_queue_id and s.shard = u.shard and s.id = u.id
        where s.visible_at <= clock_timestamp()
        for update of s skip locked);
    moved := queue.move_side_rows(p_queue_id, v_places, p_destination);
end $$;
