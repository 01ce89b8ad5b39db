-- queue.list_deliveries: returns deliveries of an account in the order of their ids.
--   `p_state` is pending or exhausted.
--   `p_after` restricts the result to greater ids, and null means all ids.
-- Times are in milliseconds since 1970. Uses the indexes outgoing_delivery_exhausted and outgoing_delivery_pkey.
create or replace function queue.list_deliveries(p_account_id text, p_state text, p_after bigint, p_limit int)
returns table (
    delivery_id bigint, state text, kind text, message_id uuid, topic_arn text, subscription_arn text,
    binding_id bigint,
    endpoint text, attempts int, due_at_ms bigint, under_way boolean, last_status int, last_error text,
    dead_letter_arn text, created_at_ms bigint)
language sql stable as $$
select d.delivery_id, d.state, n.kind, n.message_id, n.topic_arn, d.subscription_arn, d.binding_id, d.endpoint,
    d.attempts,
    queue.epoch_ms(d.due_at), d.lease is not null and d.due_at > clock_timestamp(), d.last_status, d.last_error,
    d.dead_letter_arn, queue.epoch_ms(d.created_at)
from queue.outgoing_delivery d join queue.notice n on n.notice_id = d.notice_id
where d.account_id = p_account_id and d.state = p_state and d.delivery_id > coalesce(p_after, 0)
order by d.delivery_id limit p_limit
$$;
