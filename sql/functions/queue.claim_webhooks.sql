-- queue.claim_webhooks(limit, lease, lease_ms, lanes, busy, per_lane): leases up to p_limit webhooks that are due; until
-- p_lease_ms from now nobody else gets them, and only the holder of the lease may write their outcome. p_lanes and
-- p_busy: lanes in which this process has requests under way, and how many; it gets at most p_per_lane of a lane, those
-- included. Webhooks that are due but may not go now (their endpoint is paused or throttled, or p_per_lane are under way)
-- are set aside in their lane, where they stand in nobody's way. Half of p_limit is for lanes that have something due.
-- Returns a row a webhook, in the order of penstock.delivery.webhooks.request.Delivery.
-- Locks: webhooks and lanes, skipped when another worker has them; rows of lanes are made in the order of their names.
-- Index: webhook_due, webhook_waiting, lane_next_at. Called by: the worker `deliver`.
create or replace function queue.claim_webhooks(
    p_limit int, p_lease uuid, p_lease_ms int, p_lanes text[], p_busy int[], p_per_lane int)
returns table (
    webhook_id bigint, lane text, endpoint text, kind text, message_id uuid, topic_arn text, subscription_arn text,
    raw boolean, subscription_policy text, topic_policy text, attempts int, body text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_until timestamptz := v_now + p_lease_ms * interval '1 millisecond';
    v_lane queue.lane;
    v_free int := p_limit;
    v_room int;
    v_ids bigint[] := '{}';
    v_more bigint[];
begin
    perform queue.require_read_committed();
    if exists (select from queue.lane l where l.next_at <= v_now) then
        v_free := (p_limit + 1) / 2;
    end if;
    -- Four times as many as are wanted: when the first ones have to be set aside, the others are not far.
    with due as materialized (
        select w.webhook_id, w.lane, queue.webhook_rate(w.subscription_policy, w.topic_policy) is not null as throttled
        from queue.webhook w
        where w.state = 'pending' and not w.waiting and w.due_at <= v_now
        order by w.due_at, w.webhook_id limit p_limit * 4 for update skip locked),
    judged as materialized (
        select d.webhook_id, d.lane, d.throttled
            or exists (select from queue.lane l where l.lane = d.lane and l.paused_until is not null)
            or row_number() over (partition by d.lane order by d.webhook_id)
                + coalesce((select b.busy from unnest(p_lanes, p_busy) b(lane, busy) where b.lane = d.lane), 0)
                > p_per_lane as aside
        from due d),
    taken as materialized (
        select j.webhook_id from judged j where not j.aside order by j.webhook_id limit v_free),
    parked as (
        update queue.webhook w set waiting = true
        from judged j where w.webhook_id = j.webhook_id and j.aside
        returning w.lane),
    lanes as (
        insert into queue.lane (lane, next_at)
        select p.lane, v_now from (select distinct lane from parked) p order by p.lane
        on conflict (lane) do update
        set next_at = least(queue.lane.next_at, greatest(excluded.next_at, queue.lane.paused_until)))
    select coalesce(array_agg(t.webhook_id), '{}') into v_ids from taken t;
    for v_lane in
        select * from queue.lane l where l.next_at <= v_now order by l.next_at limit p_limit for update skip locked
    loop
        v_room := least(p_limit - cardinality(v_ids), p_per_lane
            - coalesce((select b.busy from unnest(p_lanes, p_busy) b(lane, busy) where b.lane = v_lane.lane), 0)
            - (select count(*) from queue.webhook w where w.webhook_id = any (v_ids) and w.lane = v_lane.lane));
        if v_room > 0 then
            v_more := queue.claim_lane(v_lane, v_room, v_until);
            v_ids := v_ids || v_more;
        end if;
    end loop;
    return query
    with leased as (
        update queue.webhook w set lease = p_lease, due_at = v_until, waiting = false
        where w.webhook_id = any (v_ids)
        returning w.*)
    select w.webhook_id, w.lane, w.endpoint, n.kind, n.message_id, n.topic_arn, w.subscription_arn, w.raw,
        w.subscription_policy, w.topic_policy, w.attempts, queue.webhook_body(w.raw, w.subscription_arn, n)
    from leased w join queue.notice n on n.notice_id = w.notice_id
    order by w.webhook_id;
end $$;
