-- queue.next_queues(worker, limit): the queues that a worker should look at next; after the last one no row, once, and
-- then from the beginning. Locks: the worker's row. Called by: workers that go through all queues in bounded runs.
create or replace function queue.next_queues(p_worker text, p_limit int) returns table (queue_id int)
language plpgsql as $$
#variable_conflict use_column
declare
    v_position bigint;
    v_ids int[];
begin
    insert into queue.worker_position (worker, position) values (p_worker, 0) on conflict do nothing;
    select w.position into v_position from queue.worker_position w where w.worker = p_worker for update;
    v_ids := array(
        select q.queue_id from queue.queues q where q.queue_id > v_position order by q.queue_id limit p_limit);
    update queue.worker_position w
    set position = coalesce(v_ids[cardinality(v_ids)], 0), ran_at = clock_timestamp()
    where w.worker = p_worker;
    return query select u from unnest(v_ids) u;
end $$;
