-- Pauses and tests of endpoints.

-- queue.pause_delivery_endpoint: stops an account's deliveries to a URL until queue.resume_delivery_endpoint. Waiting
-- deliveries have no time limit while the endpoint is stopped. Running attempts continue. `known` says whether the
-- account has a subscription, binding, delivery or recent attempt with this URL. Changes nothing if `known` is false.
-- Locks the endpoint's row of queue.delivery_endpoint.
create or replace function queue.pause_delivery_endpoint(p_account_id text, p_endpoint text)
returns table (known boolean)
language plpgsql as $$
begin
    known := exists (
            select from queue.subscription s where s.owner = p_account_id and s.endpoint = p_endpoint)
        or exists (select from queue.binding b where b.account_id = p_account_id and b.endpoint = p_endpoint)
        or exists (
            select from queue.delivery_endpoint l
            where l.account_id = p_account_id and split_part(l.endpoint_key, ' ', 2) = p_endpoint)
        or exists (
            select from (
                select a.endpoint from queue.outgoing_delivery_attempt a
                -- The last 10,000 attempts of the account count as recent.
                where a.account_id = p_account_id order by a.attempt_id desc limit 10000) n
            where n.endpoint = p_endpoint);
    if known then
        insert into queue.delivery_endpoint as l (endpoint_key, next_at, paused_until, paused_at, stopped, account_id,
            host)
        values (p_account_id || ' ' || p_endpoint, 'infinity', 'infinity', clock_timestamp(), true, p_account_id,
            queue.delivery_host(p_account_id, p_endpoint))
        on conflict (endpoint_key) do update set next_at = 'infinity', paused_until = 'infinity', stopped = true,
        paused_at = coalesce(l.paused_at, excluded.paused_at), probe = null;
    end if;
    return next;
end $$;

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

-- queue.find_test_target: returns the target of a test event to a URL. The target is a confirmed subscription to a
-- topic of the account, or a binding of routing keys if no subscription exists. `raw` says whether the message has no
-- envelope. Returns no row if the URL has neither a subscription nor a binding. Uses the indexes
-- topic_account_id_region_name_key, subscription_topic_id_protocol_endpoint_key and binding_endpoint.
create or replace function queue.find_test_target(p_account_id text, p_region text, p_endpoint text)
returns table (topic_arn text, signature_version text, subscription_arn text, binding_id bigint, raw boolean)
language sql stable as $$
(select t.arn, coalesce(t.attributes ->> 'SignatureVersion', '1'), s.arn, null::bigint, s.raw
from queue.topic t
join queue.subscription s on s.topic_id = t.topic_id and s.protocol in ('http', 'https') and s.endpoint = p_endpoint
where t.account_id = p_account_id and t.region = p_region and s.confirmed
limit 1)
union all
(select null, null, null, b.binding_id, not b.envelope
from queue.binding b
where b.endpoint = p_endpoint and b.account_id = p_account_id and b.region = p_region
    and b.protocol in ('http', 'https')
limit 1)
limit 1
$$;
