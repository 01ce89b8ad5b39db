-- queue.webhook_traces(ids): the trace headers of webhooks whose publish was traced, a row each; in no order.
-- Reads only. Index: primary keys. Called by: the worker `deliver`, where traces are recorded.
create or replace function queue.webhook_traces(p_webhook_ids bigint[])
returns table (webhook_id bigint, trace text)
language sql stable as $$
select w.webhook_id, n.trace
from queue.webhook w join queue.notice n on n.notice_id = w.notice_id
where w.webhook_id = any (p_webhook_ids) and n.trace is not null
$$;
