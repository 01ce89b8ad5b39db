-- queue.find_delivery_excess(most): records the accounts with p_most or more waiting deliveries, which then cannot
-- publish (publish_messages, publish_events), and removes the others; p_most 0: no limit. Those that carry outgoing
-- messages to a gateway or a mail server are counted apart by protocol, which is the last part of their endpoint, for
-- the publishes that add such (publish_messages, send_outgoing): a gateway that is down stops no delivery and no mail.
-- Returns how many it forgot.
-- Cost: a read of each pending delivery, as measure_installation does.
create or replace function queue.find_delivery_excess(p_most int) returns bigint
language plpgsql as $$
declare
    v_forgotten bigint;
    v_rows bigint;
begin
    with counted as materialized (
        select d.account_id, case when d.outgoing_id is not null then split_part(d.endpoint, '/', 4) end as protocol,
            count(*) as waiting
        from queue.outgoing_delivery d
        where p_most > 0 and d.state = 'pending' group by 1, 2 having count(*) >= p_most),
    noted as (
        insert into queue.outgoing_delivery_excess as e (account_id, waiting, counted_at)
        select c.account_id, c.waiting, clock_timestamp() from counted c where c.protocol is null order by c.account_id
        on conflict (account_id) do update set waiting = excluded.waiting, counted_at = excluded.counted_at)
    insert into queue.outgoing_excess as e (account_id, protocol, waiting, counted_at)
    select c.account_id, c.protocol, c.waiting, clock_timestamp() from counted c where c.protocol is not null
    order by c.account_id, c.protocol
    on conflict (account_id, protocol) do update set waiting = excluded.waiting, counted_at = excluded.counted_at;
    delete from queue.outgoing_delivery_excess e where e.counted_at < now();     -- not by this transaction
    get diagnostics v_forgotten = row_count;
    delete from queue.outgoing_excess e where e.counted_at < now();
    get diagnostics v_rows = row_count;
    return v_forgotten + v_rows;
end $$;
