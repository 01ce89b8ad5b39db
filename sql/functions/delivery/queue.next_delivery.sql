-- queue.next_delivery: returns the milliseconds until the next delivery of these carriers
-- (queue.outgoing_delivery.carrier) is due, or 0 for a delivery that is due now. Returns no row if no delivery of these
-- carriers is pending. If no delivery is due now, registers the process p_watcher for a notification of the next
-- delivery. The notification arrives on the channel `penstock` with the text `deliveries`. A registration is valid for
-- one notification and for five seconds. If no notification arrives within half a second, the next call extends the
-- registration to a minute, because the process can then no longer miss a delivery. Later calls extend the registration
-- to two hours, in the last ten seconds of the minute and when less than 70 minutes are left. The call that creates a
-- registration can miss a delivery that commits at that moment, so the process soon calls again. Uses the indexes
-- outgoing_delivery_due and delivery_endpoint_next_at.
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
    if p_watcher is not null and (v_next is null or v_next > v_now) then
        insert into queue.watcher (queue_id, watcher, registered_at)      -- The function watch_queues does the same.
        select 0, p_watcher, v_now + case when r.registered_at is null then interval '0'
            when r.registered_at < v_now then interval '55 seconds' else interval '2 hours' end
        from (select max(w.registered_at) as registered_at from queue.watcher w
              where w.queue_id = 0 and w.watcher = p_watcher and w.registered_at > v_now - interval '5 seconds') r
        where r.registered_at is null or r.registered_at < v_now - interval '500 milliseconds'
            or r.registered_at between v_now and v_now + interval '10 seconds'
            or r.registered_at between v_now + interval '1 minute' and v_now + interval '70 minutes'
        on conflict do nothing;
    end if;
    if v_next is not null then
        -- The result is at most an hour.
        return query select least(3600000, greatest(0, ceil(extract(epoch from v_next - v_now) * 1000)))::int;
    end if;
end $$;
