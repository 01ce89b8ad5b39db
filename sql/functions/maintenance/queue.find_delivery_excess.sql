-- queue.find_delivery_excess(most): records the accounts with p_most or more waiting deliveries, and removes all other
-- accounts from the record; p_most 0: no limit. The recorded accounts cannot publish (publish_messages,
-- publish_events). Deliveries that carry outgoing messages to a gateway, a mail server or a function are counted
-- separately by protocol, which is the last part of their endpoint, for the publishes that add such messages
-- (publish_messages, send_outgoing). A broken gateway therefore stops no other delivery and no mail. Returns the number
-- of removed rows.
-- Cost: a read of each pending delivery, as measure_installation does.
create or replace function queue.find_delivery_excess(p_most int) returns bigint
language plpgsql as $$
declare
    v_forgotten bigint;
begin
    insert into queue.delivery_excess as e (account_id, protocol, waiting, counted_at)
    select d.account_id, case when d.outgoing_id is null then '' else split_part(d.endpoint, '/', 4) end as protocol,
        count(*), clock_timestamp()
    from queue.outgoing_delivery d
    where p_most > 0 and d.state = 'pending' group by 1, 2 having count(*) >= p_most order by 1, 2
    on conflict (account_id, protocol) do update set waiting = excluded.waiting, counted_at = excluded.counted_at;
    delete from queue.delivery_excess e where e.counted_at < now();     -- rows that this transaction has not counted
    get diagnostics v_forgotten = row_count;
    return v_forgotten;
end $$;
