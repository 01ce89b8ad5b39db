-- queue.claim_endpoint_webhooks(endpoint, limit, until): chooses up to p_limit waiting webhooks of one endpoint that
-- may be sent now, and stores when the endpoint is to be claimed again. A paused endpoint gives none; when its pause is
-- over, it gives one webhook as a probe, which has until p_until. A throttled endpoint gives a tenth of a second's
-- worth at once, at least one, then webhooks in proportion to the time.
-- The caller holds the endpoint's row (queue.lane) and leases the webhooks. Returns their ids; {} when there are none.
-- Locks: webhooks, skipped when locked. Index: webhook_waiting. Called by: queue.claim_webhooks.
drop function if exists queue.claim_lane(queue.lane, int, timestamptz);
create or replace function queue.claim_endpoint_webhooks(p_endpoint queue.lane, p_limit int, p_until timestamptz) returns bigint[]
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_rate int;
    v_limit int := greatest(0, p_limit);
    v_paced_at timestamptz := p_endpoint.paced_at;
    v_paused_until timestamptz := p_endpoint.paused_until;
    v_ids bigint[];
    v_next timestamptz;
begin
    if v_paused_until > v_now then
        update queue.lane l set next_at = v_paused_until where l.lane = p_endpoint.lane;
        return '{}';
    end if;
    select queue.webhook_rate(w.subscription_policy, w.topic_policy) into v_rate from queue.webhook w
    where w.lane = p_endpoint.lane and w.state = 'pending' and w.waiting order by w.due_at limit 1;
    if v_rate is not null then
        v_paced_at := greatest(v_paced_at, v_now - greatest(1, v_rate / 10) * interval '1 second' / v_rate);
        v_limit := least(v_limit, floor(extract(epoch from v_now - v_paced_at) * v_rate + 0.001)::int);
    end if;
    if v_paused_until is not null then
        v_limit := least(v_limit, 1);
    end if;
    v_ids := array(
        select w.webhook_id from queue.webhook w
        where w.lane = p_endpoint.lane and w.state = 'pending' and w.waiting and w.due_at <= v_now
        order by w.due_at, w.webhook_id limit v_limit for update skip locked);
    if v_rate is not null then
        v_paced_at := v_paced_at + cardinality(v_ids) * interval '1 second' / v_rate;
    end if;
    if v_paused_until is not null and cardinality(v_ids) > 0 then
        v_paused_until := p_until;      -- if the worker that sends the probe dies, another webhook is the probe then
    end if;
    select w.due_at into v_next from queue.webhook w
    where w.lane = p_endpoint.lane and w.state = 'pending' and w.waiting and w.webhook_id <> all (v_ids)
    order by w.due_at limit 1;
    if v_next is null and (v_ids = '{}' or (v_rate is null and p_endpoint.failures = 0)) then
        delete from queue.lane l where l.lane = p_endpoint.lane;    -- it needs no row any more
        return v_ids;
    end if;
    update queue.lane l
    set next_at = case when v_next is null then v_now + interval '1 hour'
            else greatest(v_next, v_paused_until, v_paced_at + interval '1 second' / v_rate) end,
        paused_until = v_paused_until,
        probe = case when v_paused_until is null then null else coalesce(v_ids[1], l.probe) end,
        paced_at = v_paced_at
    where l.lane = p_endpoint.lane;
    return v_ids;
end $$;
