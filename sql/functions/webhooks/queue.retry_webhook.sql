-- queue.retry_webhook(account, id): makes a webhook due now; a webhook that was given up gets all its attempts again. A
-- webhook whose attempt is under way stays as it is. An outgoing message that has failed waits again. Returns its id; no row when the account has no such webhook.
-- Locks: the webhook, then the outgoing message. Index: webhook_pkey. Called by: POST /v1/deliveries/{id}/retry.
create or replace function queue.retry_webhook(p_account_id text, p_webhook_id bigint)
returns table (webhook_id bigint)
language plpgsql as $$
#variable_conflict use_column
begin
    update queue.webhook w
    set attempts = case when w.state = 'exhausted' then 0 else w.attempts end, state = 'pending', lease = null,
        due_at = clock_timestamp(), waiting = false
    where w.webhook_id = p_webhook_id and w.account_id = p_account_id
        and (w.lease is null or w.due_at <= clock_timestamp());
    update queue.outgoing o set state = 'waiting', error = null
    from queue.webhook w
    where w.webhook_id = p_webhook_id and w.account_id = p_account_id and w.state = 'pending'
        and o.outgoing_id = w.outgoing_id and o.state = 'failed';
    perform queue.wake_webhooks();
    return query select w.webhook_id from queue.webhook w
    where w.webhook_id = p_webhook_id and w.account_id = p_account_id;
end $$;
