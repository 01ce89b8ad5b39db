-- queue.retry_delivery: makes a delivery due now. Returns the id of the delivery. Returns no row if the account has no
-- delivery with this id. An exhausted delivery starts again with all its attempts. Does not change a delivery while an
-- attempt is running. Locks the delivery, then the outgoing message.
create or replace function queue.retry_delivery(p_account_id text, p_delivery_id bigint)
returns table (delivery_id bigint)
language plpgsql as $$
#variable_conflict use_column
begin
    update queue.outgoing_delivery d
    set attempts = case when d.state = 'exhausted' then 0 else d.attempts end, state = 'pending', lease = null,
        due_at = clock_timestamp(), waiting = false,
        given_up_at = case when d.state = 'exhausted' then coalesce(d.given_up_at, d.due_at) else d.given_up_at end
    where d.delivery_id = p_delivery_id and d.account_id = p_account_id
        and (d.lease is null or d.due_at <= (select clock_timestamp()));
    update queue.outgoing o set state = 'waiting', error = null
    from queue.outgoing_delivery d
    where d.delivery_id = p_delivery_id and d.account_id = p_account_id and d.state = 'pending'
        and o.outgoing_id = d.outgoing_id and o.state = 'failed';
    perform queue.wake_deliveries();
    return query select d.delivery_id from queue.outgoing_delivery d
    where d.delivery_id = p_delivery_id and d.account_id = p_account_id;
end $$;
