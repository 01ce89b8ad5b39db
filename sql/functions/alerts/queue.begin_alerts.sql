-- queue.begin_alerts: begins an evaluation of all problems. All processes share the evaluations, and only the process
-- that began the last one can store its result (queue.store_alerts). The next evaluation begins p_interval_ms after the
-- start of the last one. If the last one has no result, the process may have died, and the next evaluation begins after
-- ten intervals, but not before five seconds and not after a minute.
--   `p_default` is whether the process knows an address for the alerts of all accounts.
--   `is_on` is whether any account has an address.
--   `round` is the number of the evaluation, and null if no evaluation is due, or if another process begins one.
--   `last_at` is the end of the last evaluation, and null if none is known.
-- If no account has an address, the function forgets an evaluation of over an hour ago, because the time after it is
-- not an outage. A time in the future does not count, because it means that the clock went back. Skips a locked row.
-- Costs two index probes if no evaluation is due.
-- This file also contains alert_scopes and list_alerts.
create or replace function queue.begin_alerts(p_interval_ms int, p_default boolean)
returns table (is_on boolean, round bigint, now timestamptz, last_at timestamptz)
language plpgsql as $$
#variable_conflict use_column
declare
    v_round queue.alert_round;
begin
    now := clock_timestamp();
    is_on := p_default or exists (select from queue.alert_target t where t.account_id <> '');
    if not is_on then
        update queue.alert_round r set ended_at = null where r.ended_at < now - interval '1 hour';
        return next;
        return;
    end if;
    if not exists (select from queue.alert_round) then
        insert into queue.alert_round (round, started_at) values (0, '-infinity') on conflict do nothing;
    end if;
    select * into v_round from queue.alert_round r
    where r.started_at > now
        or r.started_at <= now - case when r.ended_at >= r.started_at then p_interval_ms
            else greatest(p_interval_ms, least(60000, greatest(5000, 10::bigint * p_interval_ms))) end
            * interval '1 millisecond'
    for update skip locked;
    if v_round.round is not null then
        update queue.alert_round r set round = r.round + 1, started_at = now;
        round := v_round.round + 1;
        last_at := v_round.ended_at;
    end if;
    return next;
end $$;

-- queue.alert_scopes: returns the accounts and regions in which something may need attention or was told, with the
-- account's own address for alerts. `region` is empty for the deliveries of the account. `url` is null if the account
-- has no own address. Reads the measurements of all queues once, one index entry for each account with given-up
-- deliveries, and the late deliveries and schedules. Uses the indexes outgoing_delivery_exhausted,
-- outgoing_delivery_due, schedule_due and event_source_mapping_troubled.
create or replace function queue.alert_scopes() returns table (account_id text, region text, url text)
language sql stable set jit = off set enable_hashjoin = on set enable_seqscan = on as $$
with recursive given_up as (
    (select d.account_id from queue.outgoing_delivery d where d.state = 'exhausted' order by d.account_id limit 1)
    union all
    select (select d.account_id from queue.outgoing_delivery d
            where d.state = 'exhausted' and d.account_id > g.account_id order by d.account_id limit 1)
    from given_up g where g.account_id is not null),
troubled as (
    select q.account_id, q.region
    from queue.measurement m join queue.queues q on q.queue_id = m.queue_id
    where m.visible > 0 or m.in_flight > 0 or m.dead_lettered > 0 or m.expired > 0
    union
    select s.account_id, s.region from queue.schedule s
    where s.status = 'active' and s.due_at < (select clock_timestamp())
    union
    select s.account_id, s.region from queue.schedule s where s.consecutive_failures > 0
    union
    select e.account_id, e.region from queue.event_source_mapping e
    where e.failing_since is not null or (not e.enabled and e.reason <> 'USER_INITIATED')
    union
    select d.account_id, '' from unnest(queue.delivery_carriers()) k(carrier)
    cross join lateral (
        select l.account_id from queue.outgoing_delivery l
        where l.carrier = k.carrier and l.state = 'pending' and not l.waiting
            and l.due_at < (select clock_timestamp()) - interval '30 seconds') d
    union
    select l.account_id, '' from queue.delivery_endpoint l
    where l.paused_until is not null or l.failing_since is not null
    union
    select g.account_id, '' from given_up g where g.account_id is not null
    union
    select a.account_id, a.region from queue.alert a where a.state = 'firing')
select t.account_id, t.region, a.url
from troubled t left join queue.alert_target a on a.account_id = t.account_id
order by 1, 2
$$;

-- queue.list_alerts: returns the stored alerts of an account, or of all accounts if p_account_id is null.
create or replace function queue.list_alerts(p_account_id text)
returns table (account_id text, region text, subject text, name text, kind text, state text, evaluations int,
    since timestamptz, reported_rank int, reported_number bigint, reported_at timestamptz, url text)
language sql stable as $$
select a.account_id, a.region, a.subject, a.name, a.kind, a.state, a.evaluations, a.since, a.reported_rank,
    a.reported_number, a.reported_at, t.url
from queue.alert a left join queue.alert_target t on t.account_id = a.account_id
where p_account_id is null or a.account_id = p_account_id
order by 1, 2, 3, 4
$$;
