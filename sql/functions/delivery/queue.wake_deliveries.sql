-- queue.wake_deliveries(): at commit, wakes a worker that waits for deliveries; costs one index probe when no
-- worker waits. Called by: every function that inserts into queue.outgoing_delivery or
-- queue.outgoing, queue.retry_delivery.
create or replace function queue.wake_deliveries() returns void
language sql as $$
select queue.notify_watchers(0, 'deliveries')
$$;
