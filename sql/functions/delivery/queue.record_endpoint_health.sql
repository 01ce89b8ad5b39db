-- queue.record_endpoint_health(ids, endpoints, healths): records whether the endpoints of attempts work, one array
-- element an attempt: 1 it answered, -1 it failed (no answer, 5xx, 429), 0 neither. p_endpoints: the column `lane` of
-- claim_deliveries, so an account's failures pause no other account's deliveries for the same URL.
-- 20 failures without an answer in between pause an endpoint, for 5 seconds. Then it gets one delivery as a probe: an
-- answer ends the pause, a failure doubles it, up to a minute. Failures of other attempts that were still under way do
-- not count. What somebody paused stays paused.
-- Locks: rows of queue.lane, in the order of their names. Index: lane_pkey. Called by: queue.settle_deliveries.
create or replace function queue.record_endpoint_health(p_ids bigint[], p_endpoints text[], p_healths int[]) returns void
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_endpoint record;
begin
    for v_endpoint in
        select u.lane, bool_or(u.health > 0) as answers, count(*) filter (where u.health < 0)::int as failures,
            array_agg(u.delivery_id) filter (where u.health < 0) as failed
        from unnest(p_ids, p_endpoints, p_healths) u(delivery_id, lane, health)
        where u.health <> 0 group by u.lane order by u.lane
    loop
        if v_endpoint.answers then
            update queue.lane l
            set failures = 0, pauses = 0, paused_until = null, probe = null, next_at = least(l.next_at, v_now)
            where l.lane = v_endpoint.lane and (l.failures > 0 or l.paused_until is not null) and not l.stopped;
            continue;
        end if;
        insert into queue.lane as l (lane, next_at, failures, account_id, host)
        select v_endpoint.lane, v_now + interval '1 hour', v_endpoint.failures, k.account_id,
            queue.delivery_host(k.account_id, split_part(v_endpoint.lane, ' ', 2))
        from (select substring(v_endpoint.lane from '^([0-9]{12}) ') as account_id) k
        on conflict (lane) do update set failures = l.failures + excluded.failures
        where l.paused_until is null;
        update queue.lane l
        set paused_until = v_now + least(60, 5 * 2 ^ least(l.pauses, 10)) * interval '1 second',
            next_at = v_now + least(60, 5 * 2 ^ least(l.pauses, 10)) * interval '1 second',
            pauses = l.pauses + 1, probe = null
        where l.lane = v_endpoint.lane and l.failures >= 20
            and (l.paused_until is null or l.probe = any (v_endpoint.failed));
    end loop;
end $$;
