-- queue.set_webhooks_aside(ids, lanes): lets webhooks wait, each for a row of queue.lane: for its endpoint (the account and
-- webhook.lane) or for its host (queue.webhook_host). Makes the rows that are missing, so that somebody looks at them.
-- The caller holds the webhooks. Locks: rows of queue.lane, in the order of their names. Called by: queue.claim_webhooks.
create or replace function queue.set_webhooks_aside(p_ids bigint[], p_lanes text[]) returns void
language sql as $$
with aside as (
    update queue.webhook w set waiting = true, waits_for = u.lane
    from unnest(p_ids, p_lanes) u(webhook_id, lane) where w.webhook_id = u.webhook_id
    returning w.waits_for, w.account_id, w.endpoint)
insert into queue.lane (lane, next_at, account_id, host)
select d.waits_for, clock_timestamp(), d.account_id, d.host
from (select distinct a.waits_for, a.account_id, queue.webhook_host(a.account_id, a.endpoint) as host from aside a) d
order by d.waits_for
on conflict (lane) do update
set next_at = least(queue.lane.next_at, greatest(excluded.next_at, queue.lane.paused_until))
$$;
