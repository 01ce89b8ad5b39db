-- queue.store_measurements(limit, pause ms): measures the next p_limit queues, in a round through all queues that all
-- processes share; the next round begins p_pause_ms after the end of the last one. A round begins with
-- measure_installation.
-- Returns how many queues were measured; no row while the pause after a round lasts.
-- Locks: the worker's row; one process measures at a time. Cost: count_messages for each queue.
-- Called by: the worker `measure`.
create or replace function queue.store_measurements(p_limit int, p_pause_ms int) returns table (queues int)
language plpgsql as $$
#variable_conflict use_column
declare
    v_ids int[];
begin
    v_ids := array(select n.queue_id from queue.next_queues('measure', p_limit, p_pause_ms) n);
    if v_ids = '{}' then
        return;
    end if;
    if v_ids[1] = 0 then
        perform queue.measure_installation();
    end if;
    with dead_lettered as (
        delete from queue.dead_letter_count d where d.queue_id = any (v_ids) returning d.queue_id, d.messages)
    insert into queue.measurement as m
        (queue_id, measured_at, visible, in_flight, delayed, oldest_at, noisy_groups, dead_lettered)
    select q.queue_id, clock_timestamp(), c.visible, c.in_flight, c.delayed, c.oldest,
        coalesce((select cardinality(n.noisy) from queue.noise n
                  where n.queue_id = q.queue_id and n.judged_at > clock_timestamp() - interval '1 minute'), 0),
        coalesce((select sum(d.messages) from dead_lettered d where d.queue_id = q.queue_id), 0)
    from queue.queues q
    cross join lateral queue.count_messages(q.queue_id, q.fifo, q.shards) c
    where q.queue_id = any (v_ids)
    on conflict (queue_id) do update
    set measured_at = excluded.measured_at, visible = excluded.visible, in_flight = excluded.in_flight,
        delayed = excluded.delayed, oldest_at = excluded.oldest_at, noisy_groups = excluded.noisy_groups,
        dead_lettered = m.dead_lettered + excluded.dead_lettered;
    queues := cardinality(array_remove(v_ids, 0));
    return next;
end $$;
