-- queue.find_delivery_excess: records the accounts with p_max or more waiting deliveries. A p_max of 0 means no limit.
-- Returns the number of removed rows. Removes accounts that are below the limit. A recorded account cannot publish
-- (publish_messages, publish_events). Counts deliveries to a gateway, a mail server or a Lambda function separately by
-- protocol, which is the last part of the endpoint. A broken gateway therefore stops only publishes that need this
-- gateway (publish_messages, send_outgoing). Reads each pending delivery.
create or replace function queue.find_delivery_excess(p_max int) returns bigint
language plpgsql as $$
declare
    v_forgotten bigint;
begin
    insert into queue.delivery_excess as e (account_id, protocol, waiting, counted_at)
    select d.account_id, case when d.outgoing_id is null then '' else split_part(d.endpoint, '/', 4) end as protocol,
        count(*), clock_timestamp()
    from queue.outgoing_delivery d
    where p_max > 0 and d.state = 'pending' group by 1, 2 having count(*) >= p_max order by 1, 2
    on conflict (account_id, protocol) do update set waiting = excluded.waiting, counted_at = excluded.counted_at;
    delete from queue.delivery_excess e where e.counted_at < now();     -- This transaction has not counted these rows.
    get diagnostics v_forgotten = row_count;
    return v_forgotten;
end $$;
