-- queue.next_delivery: returns the milliseconds until the next delivery of these carriers
-- (queue.outgoing_delivery.carrier) is due, or 0 for a delivery that is due now. Returns no row if no delivery of these
-- carriers is pending. If no delivery is due now, registers the process p_watcher for a notification of the next
-- delivery (watch_for_work). The notification arrives on the channel `penstock` with the text `deliveries`. Uses the
-- indexes outgoing_delivery_due and delivery_endpoint_next_at.
create or replace function queue.next_delivery(p_watcher uuid, p_carriers text[]) returns table (wait_ms int)
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_next timestamptz;
begin
    v_next := least(
        (select min(f.due_at) from unnest(p_carriers) k(carrier)
         cross join lateral (
            select d.due_at from queue.outgoing_delivery d
            where d.state = 'pending' and not d.waiting and d.carrier = k.carrier order by d.due_at limit 1) f),
        (select l.next_at from queue.delivery_endpoint l
         where l.next_at < 'infinity' and l.carrier = any (p_carriers)
         order by l.next_at limit 1));
    if v_next is null or v_next > v_now then
        perform queue.watch_for_work(0, p_watcher);
    end if;
    if v_next is not null then
        -- The result is at most an hour.
        return query select least(3600000, greatest(0, ceil(extract(epoch from v_next - v_now) * 1000)))::int;
    end if;
end $$;
