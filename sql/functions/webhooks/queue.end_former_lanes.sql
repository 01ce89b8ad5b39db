-- queue.end_former_lanes(): webhooks that the previous release has set aside, which waited by their URL, are judged anew.
-- Ends a few of the rows of queue.lane that it made, once they are due; it may have made them since this release came.
-- Locks: these rows, skipped when locked, then webhooks. Index: lane_account_next_at, webhook_waiting.
-- Called by: queue.claim_webhooks.
create or replace function queue.end_former_lanes() returns void
language sql as $$
with former as materialized (
    select l.lane from queue.lane l
    where l.account_id is null and l.next_at <= clock_timestamp() order by l.next_at limit 10 for update skip locked),
released as (
    update queue.webhook w set waiting = false from former f
    where w.lane = f.lane and w.state = 'pending' and w.waiting and w.waits_for is null)
delete from queue.lane l using former f where l.lane = f.lane
$$;
