-- queue.claim_endpoint_deliveries(lane, limit, until): chooses up to p_limit deliveries that wait for a host or an endpoint and
-- may be sent now, and stores when to look at it again. A paused endpoint gives none; when its pause is over, it gives one
-- delivery as a probe, which has until p_until. One that somebody paused gives none. A throttled endpoint gives a tenth of a second's worth at once, at least one,
-- then deliveries in proportion to the time. Of a host's deliveries those whose endpoint is paused wait for the endpoint.
-- The caller holds the row of queue.lane and leases the deliveries. Returns their ids; {} when there are none.
-- Locks: deliveries and, of a host, rows of paused endpoints, skipped when locked. Index: outgoing_delivery_waits_for, lane_paused.
-- Called by: queue.claim_deliveries.
create or replace function queue.claim_endpoint_deliveries(p_lane queue.lane, p_limit int, p_until timestamptz) returns bigint[]
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_rate int;
    v_limit int := greatest(0, p_limit);
    v_paced_at timestamptz := p_lane.paced_at;
    v_paused_until timestamptz := p_lane.paused_until;
    v_ids bigint[];
    v_next timestamptz;
begin
    if exists (     -- a subscription with a rate of its own waits in a row of its own
        select from queue.lane l
        where l.lane = p_lane.account_id || ' ' || split_part(p_lane.lane, ' ', 2) and l.stopped and l.lane <> p_lane.lane)
    then
        update queue.lane l set next_at = 'infinity' where l.lane = p_lane.lane;
        return '{}';
    end if;
    if v_paused_until > v_now then
        update queue.lane l set next_at = v_paused_until where l.lane = p_lane.lane;
        return '{}';
    end if;
    if p_lane.lane = p_lane.host and exists (
        select from queue.lane l where l.host = p_lane.host and l.paused_until is not null)
    then
        with paused as materialized (   -- held, so that it stays until somebody waits for it
            select l.lane from queue.lane l
            where l.host = p_lane.host and l.paused_until is not null for update skip locked),
        first as materialized (
            select w.delivery_id, w.account_id || ' ' || w.lane as endpoint from queue.outgoing_delivery w
            where w.waits_for = p_lane.lane and w.state = 'pending' and w.waiting
            order by w.due_at, w.delivery_id limit 1000 for update skip locked)
        update queue.outgoing_delivery w set waits_for = p.lane
        from first f join paused p on p.lane = f.endpoint where w.delivery_id = f.delivery_id;
    end if;
    select queue.delivery_rate(w.subscription_policy, w.topic_policy) into v_rate from queue.outgoing_delivery w
    where w.waits_for = p_lane.lane and w.state = 'pending' and w.waiting order by w.due_at limit 1;
    if v_rate is not null then
        v_paced_at := greatest(v_paced_at, v_now - greatest(1, v_rate / 10) * interval '1 second' / v_rate);
        v_limit := least(v_limit, floor(extract(epoch from v_now - v_paced_at) * v_rate + 0.001)::int);
    end if;
    if v_paused_until is not null then
        v_limit := least(v_limit, 1);
    end if;
    v_ids := array(
        select w.delivery_id from queue.outgoing_delivery w
        where w.waits_for = p_lane.lane and w.state = 'pending' and w.waiting and w.due_at <= v_now
        order by w.due_at, w.delivery_id limit v_limit for update skip locked);
    if v_rate is not null then
        v_paced_at := v_paced_at + cardinality(v_ids) * interval '1 second' / v_rate;
    end if;
    if v_paused_until is not null and cardinality(v_ids) > 0 then
        v_paused_until := p_until;      -- if the worker that sends the probe dies, another delivery is the probe then
    end if;
    select w.due_at into v_next from queue.outgoing_delivery w
    where w.waits_for = p_lane.lane and w.state = 'pending' and w.waiting and w.delivery_id <> all (v_ids)
    order by w.due_at limit 1;
    if v_next is null and (v_ids = '{}' or (v_rate is null and p_lane.failures = 0)) then
        delete from queue.lane l where l.lane = p_lane.lane;    -- it needs no row any more
        return v_ids;
    end if;
    update queue.lane l
    set next_at = case when v_next is null then v_now + interval '1 hour'
            else greatest(v_next, v_paused_until, v_paced_at + interval '1 second' / v_rate) end,
        paused_until = v_paused_until,
        probe = case when v_paused_until is null then null else coalesce(v_ids[1], l.probe) end,
        paced_at = v_paced_at
    where l.lane = p_lane.lane;
    return v_ids;
end $$;
