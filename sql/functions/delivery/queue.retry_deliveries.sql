-- queue.retry_deliveries: retries exhausted deliveries, as queue.retry_delivery does.
--   `p_endpoint` is null for deliveries to any endpoint.
--   `p_since` restricts the retries to deliveries with a last attempt at this time or later. Null means any time.
--   `p_after` restricts the retries to greater ids.
--   `p_limit` is the maximum number of deliveries.
--   `retried` is the number of deliveries.
--   `last_id` is the `p_after` of the next call. The value is null if no more deliveries match.
-- Locks the deliveries in the order of their ids and skips locked deliveries, then locks outgoing messages. Uses the
-- index outgoing_delivery_exhausted.
-- This file also contains count_exhausted.
create or replace function queue.retry_deliveries(
    p_account_id text, p_endpoint text, p_since timestamptz, p_after bigint, p_limit int)
returns table (retried int, last_id bigint)
language plpgsql as $$
declare
    v_ids bigint[];
begin
    v_ids := array(
        select d.delivery_id from queue.outgoing_delivery d
        where d.account_id = p_account_id and d.state = 'exhausted' and d.delivery_id > coalesce(p_after, 0)
            and (p_endpoint is null or d.endpoint = p_endpoint) and d.due_at >= coalesce(p_since, '-infinity')
        order by d.delivery_id limit p_limit for update skip locked);
    update queue.outgoing_delivery d
    set attempts = 0, state = 'pending', lease = null, due_at = clock_timestamp(), waiting = false,
        given_up_at = coalesce(d.given_up_at, d.due_at)
    where d.delivery_id = any (v_ids);
    update queue.outgoing o set state = 'waiting', error = null
    from queue.outgoing_delivery d where d.delivery_id = any (v_ids) and o.outgoing_id = d.outgoing_id
        and o.state = 'failed';
    retried := cardinality(v_ids);
    last_id := case when retried = p_limit then v_ids[retried] end;
    if retried > 0 then
        perform queue.wake_deliveries();
    end if;
    return next;
end $$;

-- queue.count_exhausted: returns how many deliveries queue.retry_deliveries would retry with these parameters, up to
-- p_limit. Uses the index outgoing_delivery_exhausted.
create or replace function queue.count_exhausted(p_account_id text, p_endpoint text, p_since timestamptz, p_limit int)
returns table (number int)
language sql stable as $$
select count(*)::int from (
    select from queue.outgoing_delivery d
    where d.account_id = p_account_id and d.state = 'exhausted'
        and (p_endpoint is null or d.endpoint = p_endpoint) and d.due_at >= coalesce(p_since, '-infinity')
    limit p_limit) x
$$;
