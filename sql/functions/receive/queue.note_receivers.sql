-- queue.note_receivers: stores the receivers that a process has seen since its last call. Returns the number of rows.
-- Each receiver of a queue has an element in each array. Ignores receivers of deleted queues. Locks rows of
-- queue.receiver in their order.
-- This file also contains list_receivers.
create or replace function queue.note_receivers(
    p_arns text[], p_callers text[], p_agents text[], p_addresses text[], p_last_at timestamptz[], p_received bigint[])
returns table (noted int)
language sql as $$
with noted as (
insert into queue.receiver as r (queue_id, caller, agent, address, first_at, last_at, received)
select q.queue_id, u.caller, u.agent, u.address, min(u.last_at), max(u.last_at), sum(u.received)
from unnest(p_arns, p_callers, p_agents, p_addresses, p_last_at, p_received)
    u(arn, caller, agent, address, last_at, received)
join queue.queues q on q.arn = u.arn
group by 1, 2, 3, 4 order by 1, 2, 3, 4
on conflict (queue_id, caller, agent, address) do update
set last_at = greatest(r.last_at, excluded.last_at), received = r.received + excluded.received
returning 1)
select count(*)::int from noted
$$;

-- queue.list_receivers: returns the receivers of a queue in the last day, the latest first. Times are in milliseconds
-- since 1970.
create or replace function queue.list_receivers(p_arn text, p_limit int)
returns table (caller text, agent text, address text, first_at_ms bigint, last_at_ms bigint, received bigint)
language sql stable as $$
select r.caller, r.agent, r.address, queue.epoch_ms(r.first_at), queue.epoch_ms(r.last_at), r.received
from queue.receiver r
where r.queue_id = (select q.queue_id from queue.queues q where q.arn = p_arn)
order by r.last_at desc, r.caller, r.agent, r.address limit p_limit
$$;
