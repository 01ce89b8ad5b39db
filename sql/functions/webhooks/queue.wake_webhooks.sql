-- queue.wake_webhooks(): at commit, wakes a worker that waits for webhooks to deliver; costs one index probe when no
-- worker waits. Called by: every function that inserts into queue.webhook or
-- queue.outgoing, queue.retry_webhook.
create or replace function queue.wake_webhooks() returns void
language sql as $$
select queue.notify_watchers(0, 'webhooks')
$$;
