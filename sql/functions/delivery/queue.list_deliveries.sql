-- queue.list_deliveries(account, state, after, limit): deliveries of an account in one state, pending or exhausted, in the
-- order of their ids, from the one after p_after (null: from the first). Times in milliseconds since 1970.
-- Index: outgoing_delivery_exhausted, outgoing_delivery_pkey.
create or replace function queue.list_deliveries(p_account_id text, p_state text, p_after bigint, p_limit int)
returns table (
    delivery_id bigint, state text, kind text, message_id uuid, topic_arn text, subscription_arn text, binding_id bigint,
    endpoint text, attempts int, due_at_ms bigint, under_way boolean, last_status int, last_error text,
    dead_letter_arn text, created_at_ms bigint)
language sql stable as $$
select w.delivery_id, w.state, n.kind, n.message_id, n.topic_arn, w.subscription_arn, w.binding_id, w.endpoint, w.attempts,
    queue.epoch_ms(w.due_at), w.lease is not null and w.due_at > clock_timestamp(), w.last_status, w.last_error,
    w.dead_letter_arn, queue.epoch_ms(w.created_at)
from queue.outgoing_delivery w join queue.notice n on n.notice_id = w.notice_id
where w.account_id = p_account_id and w.state = p_state and w.delivery_id > coalesce(p_after, 0)
order by w.delivery_id limit p_limit
$$;
