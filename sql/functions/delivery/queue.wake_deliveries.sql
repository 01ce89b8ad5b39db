-- queue.wake_deliveries: wakes, at commit, a worker that waits for deliveries. Costs one index probe if no worker
-- waits.
create or replace function queue.wake_deliveries() returns void
language sql as $$
select queue.notify_watchers(0, 'deliveries')
$$;
