-- queue.claim_webhooks(limit, lease, lease_ms, endpoints, busy, per_endpoint): leases up to p_limit webhooks that are
-- due: until p_lease_ms from now no other worker gets them, and only the holder of the lease may write their outcome.
-- Accounts take turns, in a new order each time: one whose endpoints are slow, and which has many webhooks due, takes no
-- more of what becomes free than any other.
-- p_endpoints and p_busy: endpoints to which this process has requests under way, and how many; it gets at most
-- p_per_endpoint webhooks of an endpoint, those included. Webhooks that are due but may not be sent now (their endpoint
-- is paused or throttled, or p_per_endpoint are under way) are set aside with their endpoint (queue.lane), so that
-- later claims do not read them. Half of p_limit is for such endpoints, when one of them is due.
-- Returns a row a webhook, in the order of penstock.delivery.webhooks.request.Delivery.
-- Locks: webhooks and rows of queue.lane, skipped when another worker has them; new rows of queue.lane are made in the
-- order of their names. Index: webhook_account_due, webhook_waiting, lane_next_at. Called by: the worker `deliver`.
do $$ begin     -- `create or replace` cannot rename the parameters that the previous release gave it
    if 'p_lanes' = any ((
        select proargnames from pg_proc where oid = to_regprocedure('queue.claim_webhooks(int, uuid, int, text[], int[], int)'))::text[])
    then
        drop function queue.claim_webhooks(int, uuid, int, text[], int[], int);
    end if;
end $$;
create or replace function queue.claim_webhooks(
    p_limit int, p_lease uuid, p_lease_ms int, p_endpoints text[], p_busy int[], p_per_endpoint int)
returns table (
    webhook_id bigint, lane text, endpoint text, kind text, message_id uuid, topic_arn text, subscription_arn text,
    raw boolean, subscription_policy text, topic_policy text, attempts int, body text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_until timestamptz := v_now + p_lease_ms * interval '1 millisecond';
    v_endpoint queue.lane;
    v_free int := p_limit;
    v_capacity int;
    v_ids bigint[] := '{}';
    v_claimed bigint[];
begin
    perform queue.require_read_committed();
    if exists (select from queue.lane l where l.next_at <= v_now) then
        v_free := (p_limit + 1) / 2;
    end if;
    -- Four times p_limit, so that enough webhooks are left when the first ones have to be set aside.
    with recursive accounts as (    -- one step in the index for each
        (select w.account_id from queue.webhook w where w.state = 'pending' and not w.waiting
         order by w.account_id limit 1)
        union all
        select (select w.account_id from queue.webhook w
                where w.state = 'pending' and not w.waiting and w.account_id > a.account_id
                order by w.account_id limit 1)
        from accounts a where a.account_id is not null),
    due as materialized (
        select c.* from accounts a
        cross join lateral (
            select w.webhook_id, w.account_id, w.lane,
                queue.webhook_rate(w.subscription_policy, w.topic_policy) is not null as throttled
            from queue.webhook w
            where w.state = 'pending' and not w.waiting and w.account_id = a.account_id and w.due_at <= v_now
            order by w.due_at, w.webhook_id
            limit greatest(1, p_limit * 4 / (select count(*) - 1 from accounts)::int) for update skip locked) c),
    sorted as materialized (
        select d.webhook_id, d.account_id, d.lane, d.throttled
            or exists (select from queue.lane l where l.lane = d.lane and l.paused_until is not null)
            or row_number() over (partition by d.lane order by d.webhook_id)
                + coalesce((select b.busy from unnest(p_endpoints, p_busy) b(lane, busy) where b.lane = d.lane), 0)
                > p_per_endpoint as aside
        from due d),
    taken as materialized (
        select j.webhook_id
        from (select s.webhook_id, row_number() over (partition by s.account_id order by s.webhook_id) as turn
              from sorted s where not s.aside) j
        order by j.turn, random() limit v_free),
    parked as (
        update queue.webhook w set waiting = true
        from sorted j where w.webhook_id = j.webhook_id and j.aside
        returning w.lane),
    endpoints as (
        insert into queue.lane (lane, next_at)
        select p.lane, v_now from (select distinct lane from parked) p order by p.lane
        on conflict (lane) do update
        set next_at = least(queue.lane.next_at, greatest(excluded.next_at, queue.lane.paused_until)))
    select coalesce(array_agg(t.webhook_id), '{}') into v_ids from taken t;
    for v_endpoint in
        select * from queue.lane l where l.next_at <= v_now order by l.next_at limit p_limit for update skip locked
    loop
        v_capacity := least(p_limit - cardinality(v_ids), p_per_endpoint
            - coalesce((select b.busy from unnest(p_endpoints, p_busy) b(lane, busy) where b.lane = v_endpoint.lane), 0)
            - (select count(*) from queue.webhook w where w.webhook_id = any (v_ids) and w.lane = v_endpoint.lane));
        if v_capacity > 0 then
            v_claimed := queue.claim_endpoint_webhooks(v_endpoint, v_capacity, v_until);
            v_ids := v_ids || v_claimed;
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
