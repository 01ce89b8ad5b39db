-- queue.claim_deliveries: leases due deliveries to a process of the worker. For p_lease_ms, no other process receives
-- these deliveries, and only the holder of the lease can write their outcome.
--   `p_limit` is the number of free places of the process.
--   `p_endpoints` is the endpoint_key of the deliveries that the process has under way.
--   `p_busy` is the number of deliveries that the process has under way for each element of p_endpoints.
--   `p_per_host` is the maximum number of deliveries under way for a host of an account.
--   `p_carriers` contains the carriers of the process (queue.outgoing_delivery.carrier). Other deliveries stay for
--     other processes.
-- Accounts take turns in random order. An account receives at most its share of the process (queue.delivery_share), so
-- an account with slow hosts does not keep other accounts waiting. If a due delivery must wait for its host or
-- endpoint, the function marks the delivery as waiting (queue.delivery_endpoint), and later claims do not read it. If a
-- row of queue.delivery_endpoint is due, the function reserves half of p_limit for these rows.
--   `endpoint_key` is the account and the endpoint.
--   `subscription_policy` is the subscription's DeliveryPolicy.
--   `retry_policy` is the policy of a schedule, with the seconds until the invocation becomes too old (SecondsLeft).
--   `trace` is the trace header of the publish, and null if the publish was not traced.
--   `password` is the password of a URL with a user (queue.endpoint_password), or the secret URL of an alert
--     (queue.alert_target).
-- Locks deliveries and rows of queue.delivery_endpoint, and skips locked rows. Inserts rows of queue.delivery_endpoint
-- in the order of their names. Uses the indexes outgoing_delivery_account_due, outgoing_delivery_waits_for and
-- delivery_endpoint_account_next_at.
-- This file also contains choose_due_deliveries, set_deliveries_aside, delivery_rate, delivery_share and
-- claim_endpoint_deliveries.
create or replace function queue.claim_deliveries(
    p_limit int, p_lease uuid, p_lease_ms int, p_endpoints text[], p_busy int[], p_per_host int, p_carriers text[])
returns table (
    delivery_id bigint, endpoint_key text, endpoint text, kind text, message_id uuid, topic_arn text,
    subscription_arn text,
    raw boolean, subscription_policy text, topic_policy text, retry_policy text, attempts int, body text,
    account_id text, trace text, password text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_until timestamptz := v_now + p_lease_ms * interval '1 millisecond';
    -- The array contains the host of each request under way, and of each delivery that this call has chosen.
    v_busy text[];
    v_free int := p_limit;
    v_due record;
    v_capacity int;
    v_ids bigint[];
    v_claimed bigint[];
    v_hosts text[];
    v_aside bigint[];
    v_endpoint_keys text[];
begin
    perform queue.require_read_committed();
    -- The places that requests and waiting endpoints need
    v_busy := array(
        select queue.delivery_host(split_part(b.endpoint_key, ' ', 1), split_part(b.endpoint_key, ' ', 2))
        from unnest(p_endpoints, p_busy) b(endpoint_key, busy), generate_series(1, b.busy));
    if exists (
        select from queue.delivery_endpoint l
        where l.next_at <= v_now and l.carrier = any (p_carriers))
    then
        v_free := (p_limit + 1) / 2;
    end if;
    -- Due deliveries that do not wait for a host or an endpoint
    select c.ids, c.hosts, c.aside, c.endpoint_keys into v_ids, v_hosts, v_aside, v_endpoint_keys
    from queue.choose_due_deliveries(v_now, p_limit, v_free, v_busy, p_per_host, p_carriers) c;
    v_busy := v_busy || v_hosts;
    if v_aside is not null then
        perform queue.set_deliveries_aside(v_aside, v_endpoint_keys);
    end if;
    -- Due hosts and endpoints, for which deliveries wait
    for v_due in
        with recursive accounts as (
            (select l.account_id from queue.delivery_endpoint l where l.account_id is not null order by l.account_id
                limit 1)
            union all
            select (select l.account_id from queue.delivery_endpoint l where l.account_id > a.account_id
                    order by l.account_id limit 1)
            from accounts a where a.account_id is not null),
        due as materialized (
            select c.*, a.account_id from accounts a
            cross join lateral (
                select l as row, l.next_at from queue.delivery_endpoint l
                where l.account_id = a.account_id and l.next_at <= v_now
                    and l.carrier = any (p_carriers)
                    and (select count(*) from unnest(v_busy) h where h = l.host) < p_per_host
                order by l.next_at limit greatest(1, p_limit / (select count(*) - 1 from accounts)::int)
                for update skip locked) c)
        select d.row, (d.row).host, d.account_id from due d
        order by row_number() over (partition by d.account_id order by d.next_at), random()
    loop
        v_capacity := least(p_per_host - (select count(*) from unnest(v_busy) h where h = v_due.host),
            queue.delivery_share(p_limit - cardinality(v_ids), (
                select count(*) from unnest(v_busy) h where split_part(h, ' ', 1) = v_due.account_id)::int));
        if v_capacity > 0 then
            v_claimed := queue.claim_endpoint_deliveries(v_due.row, v_capacity, v_until);
            v_ids := v_ids || v_claimed;
            v_busy := v_busy || array_fill(v_due.host, array[cardinality(v_claimed)]);
        end if;
    end loop;
    -- The lease, and what the worker sends
    return query
    with leased as (
        update queue.outgoing_delivery d set lease = p_lease, due_at = v_until, waiting = false, waits_for = null
        where d.delivery_id = any (v_ids)
        returning d.*)
    select d.delivery_id, d.account_id || ' ' || d.endpoint_key, d.endpoint, n.kind, n.message_id, n.topic_arn,
        d.subscription_arn, d.raw, d.subscription_policy, d.topic_policy,
        (d.retry_policy || jsonb_build_object('SecondsLeft',
            (d.retry_policy ->> 'Until')::float8 - extract(epoch from v_now)::float8))::text,
        d.attempts, case when n.kind = 'schedule' then queue.function_input(n, d.attempts + 1)
            else queue.delivery_body(d.raw, d.subscription_arn, n) end,
        d.account_id, n.trace, case when n.kind = 'alert' then (
            select a.url from queue.alert_target a where a.account_id = n.alert_account)
        when d.endpoint like '%:****@%' then (
            select p.password from queue.endpoint_password p
            where p.account_id = d.account_id and p.endpoint = d.endpoint
                and p.topic_arn = case when d.binding_id is null then n.topic_arn else '' end) end
    from leased d join queue.notice n on n.notice_id = d.notice_id
    order by d.delivery_id;
end $$;

-- queue.choose_due_deliveries: chooses due deliveries for claim_deliveries.
--   `p_free` is the number of places, of p_limit, for these deliveries.
--   `p_busy` is the host of each request under way.
--   `ids` and `hosts` describe the deliveries that the worker can send now.
--   `aside` contains the deliveries that have to wait.
--   `endpoint_keys` contains, for each delivery in `aside`, the row of queue.delivery_endpoint for which the delivery
--     waits.
-- Locks deliveries and skips locked rows. Uses the index outgoing_delivery_account_due.
create or replace function queue.choose_due_deliveries(
    p_now timestamptz, p_limit int, p_free int, p_busy text[], p_per_host int, p_carriers text[])
returns table (ids bigint[], hosts text[], aside bigint[], endpoint_keys text[])
language plpgsql as $$
#variable_conflict use_column
begin
    -- The search reads four times p_limit, because the first deliveries may have to wait.
    return query
    with recursive accounts as (    -- The query reads one index entry for each account.
        (select d.account_id from queue.outgoing_delivery d where d.state = 'pending' and not d.waiting
         order by d.account_id limit 1)
        union all
        select (select d.account_id from queue.outgoing_delivery d
                where d.state = 'pending' and not d.waiting and d.account_id > a.account_id
                order by d.account_id limit 1)
        from accounts a where a.account_id is not null),
    due as materialized (
        select c.*, b.busy from accounts a cross join unnest(p_carriers) k(carrier)
        cross join lateral (
            select d.delivery_id, d.account_id, d.account_id || ' ' || d.endpoint_key as endpoint,
                queue.delivery_host(d.account_id, d.endpoint) as host,
                queue.delivery_rate(d.subscription_policy, d.topic_policy) is not null as throttled
            from queue.outgoing_delivery d
            where d.state = 'pending' and not d.waiting and d.account_id = a.account_id and d.carrier = k.carrier
                and d.due_at <= p_now
            order by d.due_at, d.delivery_id
            limit greatest(1, p_limit * 4 / (select count(*) - 1 from accounts)::int) for update skip locked) c
        cross join lateral (
            select count(*)::int as busy from unnest(p_busy) h where split_part(h, ' ', 1) = a.account_id) b),
    judged as materialized (
        select d.*, d.throttled
            or exists (
                select from queue.delivery_endpoint l where l.endpoint_key = d.endpoint and l.paused_until is not null)
            as restricted
        from due d),
    sorted as materialized (
        select j.delivery_id, j.account_id, j.host, j.busy, case
            when j.restricted then j.endpoint
            when row_number() over (partition by j.host, j.restricted order by j.delivery_id)
                + (select count(*) from unnest(p_busy) h where h = j.host) > p_per_host then j.host end as waits_for
        from judged j),
    turns as materialized (
        select s.delivery_id, s.host, s.busy, random() as lot,
            row_number() over (partition by s.account_id order by s.delivery_id) as turn
        from sorted s where s.waits_for is null),
    taken as (
        select o.delivery_id, o.host
        from (select t.*, row_number() over (order by t.turn, t.lot) as place from turns t
              where t.turn <= queue.delivery_share(p_limit, t.busy)) o
        where o.place <= p_free and o.busy + o.turn <= greatest(1, 4 * (p_limit - o.place)))
    select (select coalesce(array_agg(t.delivery_id), '{}') from taken t), (select array_agg(t.host) from taken t),
        array_agg(s.delivery_id) filter (where s.waits_for is not null),
        array_agg(s.waits_for) filter (where s.waits_for is not null)
    from sorted s;
end $$;

-- queue.set_deliveries_aside: makes deliveries wait for a host or an endpoint. Later claims then do not read these
-- deliveries. The caller has locked the deliveries' rows. Locks rows of queue.delivery_endpoint in the order of their
-- names.
create or replace function queue.set_deliveries_aside(p_delivery_ids bigint[], p_endpoint_keys text[]) returns void
language plpgsql as $$
begin
    with aside as (
        update queue.outgoing_delivery d set waiting = true, waits_for = u.endpoint_key
        from unnest(p_delivery_ids, p_endpoint_keys) u(delivery_id, endpoint_key) where d.delivery_id = u.delivery_id
        returning d.waits_for, d.account_id, d.endpoint)
    -- A claim finds this row. The insert adds a missing row.
    insert into queue.delivery_endpoint (endpoint_key, next_at, account_id, host)
    select d.waits_for, clock_timestamp(), d.account_id, d.host
    from (
        select distinct a.waits_for, a.account_id, queue.delivery_host(a.account_id, a.endpoint) as host from aside a) d
    order by d.waits_for
    on conflict (endpoint_key) do update
    set next_at = least(
        queue.delivery_endpoint.next_at, greatest(excluded.next_at, queue.delivery_endpoint.paused_until));
end $$;

-- queue.delivery_rate: returns the maximum number of deliveries per second in delivery policies, or null for no
-- maximum. A topic's policy can override the policies of its subscriptions.
create or replace function queue.delivery_rate(p_subscription text, p_topic text) returns int
language sql immutable parallel safe
return (coalesce(
    case when (nullif(p_topic, '')::jsonb #>> '{http,disableSubscriptionOverrides}')::boolean then null
        else nullif(p_subscription, '')::jsonb #>> '{throttlePolicy,maxReceivesPerSecond}' end,
    nullif(p_topic, '')::jsonb #>> '{http,defaultThrottlePolicy,maxReceivesPerSecond}'))::int;

-- queue.delivery_share: returns how many of a process's free places an account can use. `p_busy` is the number of
-- places that the account uses now. An account can use four times the number of places that stay free, and at least one
-- place. A single account uses up to four fifths of all places. With more accounts, each account uses fewer places, and
-- a few places stay free. The rule comes from Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory
-- packet switches" (1998).
create or replace function queue.delivery_share(p_free int, p_busy int) returns int
language sql immutable parallel safe
return greatest(0, (4 * p_free - p_busy) / 5, least(1, p_free) - p_busy);

-- queue.claim_endpoint_deliveries: chooses deliveries that wait for a host or an endpoint. Returns up to p_limit ids,
-- and stores the time at which a worker checks the host or endpoint again. A paused endpoint yields no deliveries.
-- After a failed endpoint's pause, the endpoint yields one delivery as a probe, which must end by p_until. If no
-- delivery waits, a failed endpoint's row stays for an hour, because retries can become due later. A throttled endpoint
-- at once yields the deliveries of a tenth of a second, at least one delivery. Later, the endpoint yields deliveries at
-- its rate. A host's deliveries to a paused endpoint wait for the endpoint. The caller has locked the row of
-- queue.delivery_endpoint, and leases the deliveries. Locks deliveries and, for a host, rows of paused endpoints. Skips
-- locked rows. Uses the indexes outgoing_delivery_waits_for and delivery_endpoint_paused.
create or replace function queue.claim_endpoint_deliveries(
    p_endpoint_key queue.delivery_endpoint, p_limit int, p_until timestamptz)
returns bigint[]
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_rate int;
    v_limit int := greatest(0, p_limit);
    v_paced_at timestamptz := p_endpoint_key.paced_at;
    v_paused_until timestamptz := p_endpoint_key.paused_until;
    v_ids bigint[];
    v_next timestamptz;
begin
    if exists (     -- A subscription with a rate has a separate row, which does not have the user's pause.
        select from queue.delivery_endpoint l
        where l.endpoint_key = p_endpoint_key.account_id || ' ' || split_part(p_endpoint_key.endpoint_key, ' ', 2)
            and l.stopped and l.endpoint_key <> p_endpoint_key.endpoint_key)
    then
        update queue.delivery_endpoint l set next_at = 'infinity' where l.endpoint_key = p_endpoint_key.endpoint_key;
        return '{}';
    end if;
    -- Pauses
    if v_paused_until > v_now then
        update queue.delivery_endpoint l set next_at = v_paused_until
        where l.endpoint_key = p_endpoint_key.endpoint_key;
        return '{}';
    end if;
    if p_endpoint_key.endpoint_key = p_endpoint_key.host and exists (
        select from queue.delivery_endpoint l where l.host = p_endpoint_key.host and l.paused_until is not null)
    then
        with paused as materialized (   -- The lock keeps the row until a delivery waits for the endpoint.
            select l.endpoint_key from queue.delivery_endpoint l
            where l.host = p_endpoint_key.host and l.paused_until is not null for update skip locked),
        first as materialized (
            select d.delivery_id, d.account_id || ' ' || d.endpoint_key as endpoint from queue.outgoing_delivery d
            where d.waits_for = p_endpoint_key.endpoint_key and d.state = 'pending' and d.waiting
            -- One call examines at most 1,000 deliveries of the host.
            order by d.due_at, d.delivery_id limit 1000 for update skip locked)
        update queue.outgoing_delivery d set waits_for = p.endpoint_key
        from first f join paused p on p.endpoint_key = f.endpoint where d.delivery_id = f.delivery_id;
    end if;
    -- The number of deliveries that the rate and the pause allow
    select queue.delivery_rate(d.subscription_policy, d.topic_policy) into v_rate from queue.outgoing_delivery d
    where d.waits_for = p_endpoint_key.endpoint_key and d.state = 'pending' and d.waiting order by d.due_at limit 1;
    if v_rate is not null then
        v_paced_at := greatest(v_paced_at, v_now - greatest(1, v_rate / 10) * interval '1 second' / v_rate);
        v_limit := least(v_limit, floor(extract(epoch from v_now - v_paced_at) * v_rate + 0.001)::int);
    end if;
    if v_paused_until is not null then
        v_limit := least(v_limit, 1);
    end if;
    -- The deliveries
    v_ids := array(
        select d.delivery_id from queue.outgoing_delivery d
        where d.waits_for = p_endpoint_key.endpoint_key and d.state = 'pending' and d.waiting and d.due_at <= v_now
        order by d.due_at, d.delivery_id limit v_limit for update skip locked);
    if v_rate is not null then
        v_paced_at := v_paced_at + cardinality(v_ids) * interval '1 second' / v_rate;
    end if;
    if v_paused_until is not null and cardinality(v_ids) > 0 then
        -- If the probe's worker dies, another delivery becomes the probe at p_until.
        v_paused_until := p_until;
    end if;
    -- The next time at which a worker checks this row
    select d.due_at into v_next from queue.outgoing_delivery d
    where d.waits_for = p_endpoint_key.endpoint_key and d.state = 'pending' and d.waiting
        and d.delivery_id <> all (v_ids)
    order by d.due_at limit 1;
    if v_next is null and v_ids = '{}' and p_endpoint_key.failures > 0 and exists (
        select from queue.outgoing_delivery d
        where d.account_id = p_endpoint_key.account_id and d.state = 'exhausted'
            and d.account_id || ' ' || d.endpoint_key = p_endpoint_key.endpoint_key)
    then
        -- The row stays, because a retry of the given-up deliveries is the continuation of the failure.
        update queue.delivery_endpoint l set next_at = v_now + interval '1 hour'
        where l.endpoint_key = p_endpoint_key.endpoint_key;
        return v_ids;
    end if;
    if v_next is null and v_ids = '{}' and v_paused_until > v_now - interval '1 hour' then
        -- The row stays, because retries can become due later.
        update queue.delivery_endpoint l set next_at = v_paused_until + interval '1 hour'
        where l.endpoint_key = p_endpoint_key.endpoint_key;
        return v_ids;
    end if;
    if v_next is null and (v_ids = '{}' or (v_rate is null and p_endpoint_key.failures = 0)) then
        -- No delivery needs the row any more.
        delete from queue.delivery_endpoint l where l.endpoint_key = p_endpoint_key.endpoint_key;
        return v_ids;
    end if;
    update queue.delivery_endpoint l
    set next_at = case when v_next is null then v_now + interval '1 hour'
            else greatest(v_next, v_paused_until, v_paced_at + interval '1 second' / v_rate) end,
        paused_until = v_paused_until,
        probe = case when v_paused_until is null then null else coalesce(v_ids[1], l.probe) end,
        paced_at = v_paced_at
    where l.endpoint_key = p_endpoint_key.endpoint_key;
    return v_ids;
end $$;
