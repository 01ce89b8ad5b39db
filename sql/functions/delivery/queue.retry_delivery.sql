-- queue.retry_delivery(account, id): makes a delivery due now; a delivery that was given up gets all its attempts again. A
-- delivery whose attempt is under way stays as it is. An outgoing message that has failed waits again. Returns its id; no row when the account has no such delivery.
-- Locks: the delivery, then the outgoing message. Index: outgoing_delivery_pkey.
create or replace function queue.retry_delivery(p_account_id text, p_delivery_id bigint)
returns table (delivery_id bigint)
language plpgsql as $$
#variable_conflict use_column
begin
    update queue.outgoing_delivery w
    set attempts = case when w.state = 'exhausted' then 0 else w.attempts end, state = 'pending', lease = null,
        due_at = clock_timestamp(), waiting = false
    where w.delivery_id = p_delivery_id and w.account_id = p_account_id
        and (w.lease is null or w.due_at <= clock_timestamp());
    update queue.outgoing o set state = 'waiting', error = null
    from queue.outgoing_delivery w
    where w.delivery_id = p_delivery_id and w.account_id = p_account_id and w.state = 'pending'
        and o.outgoing_id = w.outgoing_id and o.state = 'failed';
    perform queue.wake_deliveries();
    return query select w.delivery_id from queue.outgoing_delivery w
    where w.delivery_id = p_delivery_id and w.account_id = p_account_id;
end $$;
