-- queue.next_queues: returns the next p_limit queues for a worker. A round begins with 0, which means the work that
-- does not belong to a queue. Returns no row once after the last queue. The next round begins at least p_pause_ms
-- later. All processes of an installation share the round and its pause. A stored time in the future does not count,
-- because it means that the clock went back. Locks the worker's row.
create or replace function queue.next_queues(p_worker text, p_limit int, p_pause_ms int default 0)
returns table (queue_id int)
language plpgsql as $$
#variable_conflict use_column
declare
    v_worker queue.worker_position;
    v_ids int[];
begin
    insert into queue.worker_position (worker, position, ran_at) values (p_worker, 0, '-infinity')
    on conflict do nothing;
    select * into v_worker from queue.worker_position w where w.worker = p_worker for update;
    if v_worker.position = 0 and v_worker.ran_at > clock_timestamp() - p_pause_ms * interval '1 millisecond'
        and v_worker.ran_at <= clock_timestamp()
    then
        return;
    end if;
    v_ids := array(
        select q.queue_id from queue.queues q where q.queue_id > v_worker.position order by q.queue_id limit p_limit);
    update queue.worker_position w
    set position = case when v_ids <> '{}' then v_ids[cardinality(v_ids)]
            -- If the installation has no queues, the next call ends the round.
            when v_worker.position = 0 then 9223372036854775807
            else 0 end,
        ran_at = clock_timestamp()
    where w.worker = p_worker;
    if v_worker.position = 0 then
        v_ids := 0 || v_ids;
    end if;
    return query select u from unnest(v_ids) u;
end $$;
