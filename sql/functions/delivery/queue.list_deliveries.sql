-- queue.list_deliveries: returns deliveries of an account in the order of their ids.
--   `p_state` is pending or exhausted.
--   `p_after` restricts the result to greater ids, and null means all ids.
--   `due_at_ms` is the end of the service's pause of the endpoint, if that is later than the delivery's time.
--   `endpoint_state` is `paused` if a user paused the endpoint, and `fails` if the service did.
-- Times are in milliseconds since 1970. Uses the indexes outgoing_delivery_exhausted, outgoing_delivery_pkey and
-- delivery_endpoint_pkey.
create or replace function queue.list_deliveries(p_account_id text, p_state text, p_after bigint, p_limit int)
returns table (
    delivery_id bigint, state text, kind text, message_id uuid, topic_arn text, subscription_arn text,
    binding_id bigint,
    endpoint text, attempts int, due_at_ms bigint, under_way boolean, last_status int, last_error text,
    dead_letter_arn text, created_at_ms bigint, endpoint_state text)
language sql stable as $$
select d.delivery_id, d.state, n.kind, n.message_id, n.topic_arn, d.subscription_arn, d.binding_id, d.endpoint,
    d.attempts,
    queue.epoch_ms(case when e.stopped then d.due_at else greatest(d.due_at, e.paused_until) end),
    d.lease is not null and d.due_at > clock_timestamp(), d.last_status, d.last_error,
    d.dead_letter_arn, queue.epoch_ms(d.created_at),
    case when e.stopped then 'paused' when e.paused_until is not null then 'fails' end
from queue.outgoing_delivery d join queue.notice n on n.notice_id = d.notice_id
left join queue.delivery_endpoint e on d.state = 'pending' and e.endpoint_key = d.account_id || ' ' || d.endpoint_key
where d.account_id = p_account_id and d.state = p_state and d.delivery_id > coalesce(p_after, 0)
order by d.delivery_id limit p_limit
$$;
