-- queue.queues_with_remains(queues): queue.queues_with_leftover_rows, under the name that the previous release calls.
-- Called by: the worker `maintain` of the previous release.
create or replace function queue.queues_with_remains(p_queue_ids int[]) returns table (queue_id int)
language sql as $$
select r.queue_id from queue.queues_with_leftover_rows(p_queue_ids) r
$$;
