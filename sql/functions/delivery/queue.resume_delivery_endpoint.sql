-- queue.resume_delivery_endpoint: ends a URL's pause and makes the URL's waiting deliveries due now. Ends both a user's
-- pause and the worker's pause after failures. `known` says whether the URL was paused. Locks rows of
-- queue.delivery_endpoint in the order of their names.
create or replace function queue.resume_delivery_endpoint(p_account_id text, p_endpoint text)
returns table (known boolean)
language plpgsql as $$
declare
    v_endpoint_key text := p_account_id || ' ' || p_endpoint;
begin
    update queue.delivery_endpoint l
    set stopped = false, paused_until = null, paused_at = null, failures = 0, failing_since = null, pauses = 0,
        probe = null, reported = false, next_at = clock_timestamp()
    where l.endpoint_key = v_endpoint_key and l.paused_until is not null;
    known := found;
    if known then   -- A subscription with a rate has a separate row.
        perform from queue.delivery_endpoint l
        where l.account_id = p_account_id and starts_with(l.endpoint_key, v_endpoint_key || ' ')
        order by l.endpoint_key for update;
        update queue.delivery_endpoint l set next_at = clock_timestamp()
        where l.account_id = p_account_id and starts_with(l.endpoint_key, v_endpoint_key || ' ');
        perform queue.wake_deliveries();
    end if;
    return next;
end $$;
