-- queue.resume_delivery_endpoint(account, URL): ends a pause of this URL, also one that the worker made since the endpoint
-- failed: what waits is due now. Returns one row: whether it was paused.
-- Locks: rows of queue.lane, in the order of their names.
create or replace function queue.resume_delivery_endpoint(p_account_id text, p_endpoint text) returns table (known boolean)
language plpgsql as $$
declare
    v_lane text := p_account_id || ' ' || p_endpoint;
begin
    update queue.lane l
    set stopped = false, paused_until = null, failures = 0, pauses = 0, probe = null, next_at = clock_timestamp()
    where l.lane = v_lane and l.paused_until is not null;
    known := found;
    if known then   -- a subscription with a rate of its own waits for a row of its own
        perform from queue.lane l
        where l.account_id = p_account_id and starts_with(l.lane, v_lane || ' ') order by l.lane for update;
        update queue.lane l set next_at = clock_timestamp()
        where l.account_id = p_account_id and starts_with(l.lane, v_lane || ' ');
        perform queue.wake_deliveries();
    end if;
    return next;
end $$;
