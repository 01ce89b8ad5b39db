-- queue.list_receivers(arn, limit): who received from a queue in the last day, the last one first. Times in milliseconds since 1970.
-- Index: receiver_pkey.
create or replace function queue.list_receivers(p_arn text, p_limit int)
returns table (caller text, agent text, address text, first_at_ms bigint, last_at_ms bigint, received bigint)
language sql stable as $$
select r.caller, r.agent, r.address, queue.epoch_ms(r.first_at), queue.epoch_ms(r.last_at), r.received
from queue.receiver r
where r.queue_id = (select q.queue_id from queue.queues q where q.arn = p_arn)
order by r.last_at desc, r.caller, r.agent, r.address limit p_limit
$$;
