-- queue.list_failed_endpoints(account, most): returns the endpoints of an account that are paused, or to which
-- deliveries were given up and are kept, the most given up first, at most 200. The function counts the newest p_most
-- deliveries that were given up. given_up_at: when the first of them was given up. paused_at: the beginning of the
-- endpoint's pause, null if it is not paused. stopped: a user paused it. Index: outgoing_delivery_exhausted,
-- delivery_endpoint_account_next_at.
create or replace function queue.list_failed_endpoints(p_account_id text, p_most int)
returns table (
    endpoint text, given_up int, given_up_at timestamptz, last_error text, paused_at timestamptz, stopped boolean)
language sql stable as $$
with given_up as (
    select n.endpoint, count(*)::int as number, min(n.due_at) as since, max(n.delivery_id) as last_id
    from (
        select d.endpoint, d.due_at, d.delivery_id from queue.outgoing_delivery d
        where d.account_id = p_account_id and d.state = 'exhausted' order by d.delivery_id desc limit p_most) n
    group by n.endpoint),
paused as (
    select split_part(l.endpoint_key, ' ', 2) as endpoint, min(l.paused_at) as since, bool_or(l.stopped) as stopped
    from queue.delivery_endpoint l
    where l.account_id = p_account_id and l.paused_until is not null group by 1)
select coalesce(g.endpoint, p.endpoint), coalesce(g.number, 0), g.since, d.last_error, p.since, coalesce(p.stopped, false)
from given_up g full join paused p on p.endpoint = g.endpoint
left join queue.outgoing_delivery d on d.delivery_id = g.last_id
order by g.number desc nulls last, 1
limit 200
$$;
