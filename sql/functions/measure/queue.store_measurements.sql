-- queue.store_measurements(limit, pause ms): measures the next p_limit queues, in a round through all queues that all
-- processes share; the next round begins p_pause_ms after the end of the last one. A round begins with
-- measure_installation.
-- Returns how many queues were measured; no row while the pause after a round lasts.
-- Locks: the worker's row; one process measures at a time. Cost: count_messages for each queue.
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
    perform queue.store_gauges(array(      -- without those that store_minutes has just counted
        select u from unnest(v_ids) u
        where u <> 0 and not exists (
            select from queue.measurement m
            where m.queue_id = u and m.measured_at > clock_timestamp() - p_pause_ms / 2 * interval '1 millisecond')));
    queues := cardinality(array_remove(v_ids, 0));
    return next;
end $$;
