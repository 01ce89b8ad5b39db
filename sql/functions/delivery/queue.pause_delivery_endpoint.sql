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
