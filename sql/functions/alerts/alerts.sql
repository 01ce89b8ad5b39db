-- Alerts of an account: when a worker evaluates them, their URL, and their state.

-- queue.begin_alerts: begins an evaluation of all problems. All processes share the evaluations, and only the process
-- that began the last one can store its result (queue.store_alerts). The next evaluation begins p_interval_ms after the
-- start of the last one. If the last one has no result, the process may have died, and the next evaluation begins after
-- ten intervals, but not before five seconds and not after a minute.
--   `p_default` says whether the process knows an address for the alerts of all accounts.
--   `is_on` says whether any account has an address.
--   `round` is the number of the evaluation, and null if no evaluation is due, or if another process begins one.
--   `last_at` is the end of the last evaluation, and null if none is known.
-- If no account has an address, the function forgets an evaluation of over an hour ago, because the time after it is
-- not an outage. A time in the future does not count, because it means that the clock went back. Skips a locked row.
-- Costs two index probes if no evaluation is due.
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

-- queue.next_alert_round: returns when the next evaluation can begin, if the last one has ended (begin_alerts).
create or replace function queue.next_alert_round(p_interval_ms int) returns table (next_at timestamptz)
language sql stable as $$
select greatest(clock_timestamp(), max(r.started_at) + p_interval_ms * interval '1 millisecond')
from queue.alert_round r
$$;

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
    since timestamptz, reported_rank int, reported_number bigint, reported_at timestamptz, title text, page text,
    url text)
language sql stable as $$
select a.account_id, a.region, a.subject, a.name, a.kind, a.state, a.evaluations, a.since, a.reported_rank,
    a.reported_number, a.reported_at, a.title, a.page, t.url
from queue.alert a left join queue.alert_target t on t.account_id = a.account_id
where p_account_id is null or a.account_id = p_account_id
order by 1, 2, 3, 4
$$;

-- queue.list_undelivered_alerts: returns the deliveries of an account's alerts and tests that are under way or given
-- up, of the first p_max deliveries that are due, the first p_max that wait for an endpoint, and the last p_max that
-- were given up.
--   `state` is pending, waiting (for the end of a pause of the endpoint) or given_up.
--   `next_at` is the time of the next attempt, and null after the last attempt and while a user pauses the endpoint.
-- Uses the indexes outgoing_delivery_account_due, outgoing_delivery_waits_for, outgoing_delivery_exhausted and
-- delivery_endpoint_account_next_at.
create or replace function queue.list_undelivered_alerts(p_account_id text, p_max int)
returns table (created_at timestamptz, state text, attempts int, next_at timestamptz, error text)
language sql stable as $$
select d.created_at, d.state, d.attempts, d.next_at, d.last_error
from (
    select f.*, 'pending' as state, f.due_at as next_at from unnest(array['http', 'mail']) k(carrier)
    cross join lateral (
        select x.created_at, x.endpoint, x.attempts, x.last_error, x.due_at from queue.outgoing_delivery x
        where x.account_id = p_account_id and x.carrier = k.carrier and x.state = 'pending' and not x.waiting
        order by x.due_at limit p_max) f
    union all
    select w.*, 'waiting', case when not l.stopped then greatest(w.due_at, l.paused_until) end
    from queue.delivery_endpoint l
    cross join lateral (
        select x.created_at, x.endpoint, x.attempts, x.last_error, x.due_at from queue.outgoing_delivery x
        where x.waits_for in (l.endpoint_key, l.host) and x.state = 'pending' and x.waiting
            and x.account_id || ' ' || x.endpoint_key = l.endpoint_key
        limit p_max) w
    where l.account_id = p_account_id
    union all (
        select x.created_at, x.endpoint, x.attempts, x.last_error, x.due_at, 'given_up', null
        from queue.outgoing_delivery x
        where x.account_id = p_account_id and x.state = 'exhausted' order by x.delivery_id desc limit p_max)) d
where starts_with(d.endpoint, 'alert://') or d.endpoint = 'smtp://mail/alert'
order by d.created_at
$$;

-- queue.change_alert_url: sets an account's own address for alerts, or removes it if p_url is null. Forgets which
-- problems were told, so a new address learns of all current problems. An evaluation that runs meanwhile cannot store
-- its result, because it read the old address. `changed` is false if the account already has this address. Locks the
-- row of queue.alert_round first, like store_alerts.
create or replace function queue.change_alert_url(p_account_id text, p_url text) returns table (changed boolean)
language plpgsql as $$
#variable_conflict use_column
begin
    perform from queue.alert_round r for update;
    if p_url is null then
        delete from queue.alert_target t where t.account_id = p_account_id;
    else
        insert into queue.alert_target as t (account_id, url) values (p_account_id, p_url)
        on conflict (account_id) do update set url = excluded.url where t.url <> excluded.url;
    end if;
    changed := found;
    if changed then
        delete from queue.alert a where a.account_id = p_account_id;
        update queue.alert_round r set round = r.round + 1, started_at = '-infinity';
    end if;
    return next;
end $$;

-- queue.find_alert_url: returns an account's own address for alerts, or no row.
create or replace function queue.find_alert_url(p_account_id text) returns table (url text)
language sql stable as $$
select t.url from queue.alert_target t where t.account_id = p_account_id
$$;

-- queue.store_alerts: stores the result of an evaluation and its messages in one transaction, so each change is told
-- exactly once.
--   `p_round` is the evaluation. If another process has begun a later one, the function changes nothing.
--   `p_changed` contains rows of queue.alert that are new or different.
--   `p_gone` contains the keys of rows to delete.
--   The other parameters are those of send_alerts.
-- `stored` is false if the function changed nothing. Locks the row of queue.alert_round.
create or replace function queue.store_alerts(
    p_round bigint, p_default_url text, p_changed jsonb, p_gone jsonb, p_messages jsonb)
returns table (stored boolean, deliveries int)
language plpgsql as $$
#variable_conflict use_column
begin
    perform queue.require_read_committed();
    perform from queue.alert_round r
    where r.round = p_round and (r.ended_at is null or r.ended_at < r.started_at) for update;
    stored := found;
    deliveries := 0;
    if not stored then
        return next;
        return;
    end if;
    delete from queue.alert a
    using jsonb_to_recordset(p_gone) g(account_id text, region text, subject text, name text)
    where (a.account_id, a.region, a.subject, a.name) = (g.account_id, g.region, g.subject, g.name);
    insert into queue.alert as a (account_id, region, subject, name, kind, state, evaluations, since, reported_rank,
        reported_number, reported_at, title, page)
    select c.account_id, c.region, c.subject, c.name, c.kind, c.state, c.evaluations, c.since, c.reported_rank,
        c.reported_number, c.reported_at, c.title, c.page
    from jsonb_to_recordset(p_changed) c(account_id text, region text, subject text, name text, kind text, state text,
        evaluations int, since timestamptz, reported_rank int, reported_number bigint, reported_at timestamptz,
        title text, page text)
    on conflict (account_id, region, subject, name) do update
    set kind = excluded.kind, state = excluded.state, evaluations = excluded.evaluations, since = excluded.since,
        reported_rank = excluded.reported_rank, reported_number = excluded.reported_number,
        reported_at = excluded.reported_at, title = excluded.title, page = excluded.page;
    select count(*) into deliveries from queue.send_alerts(p_default_url, p_messages);
    update queue.alert_round r set ended_at = clock_timestamp();
    return next;
end $$;

-- queue.send_alerts: creates the deliveries of alerts. Ignores the quota of deliveries, because an account's backlog is
-- a reason for an alert.
--   `p_default_url` is QUEUE_ALERT_URL, or null. The function stores the URL, so that any process can send.
--   `p_messages` contains objects: `account_id` is the account that can list the delivery. `target` is the row of
--     queue.alert_target, and absent for a mail. `endpoint` is a name without secrets: `alert://HOST`, or
--     `smtp://mail/alert`. `kind`, `message_id` and `body` are the columns of queue.notice.
create or replace function queue.send_alerts(p_default_url text, p_messages jsonb)
returns table (delivery_id bigint, message_id uuid, endpoint text)
language plpgsql as $$
#variable_conflict use_column
begin
    if p_messages = '[]' then
        return;
    end if;
    insert into queue.alert_target as t (account_id, url) select '', p_default_url where p_default_url is not null
    on conflict (account_id) do update set url = excluded.url where t.url <> excluded.url;
    perform queue.wake_deliveries();
    return query
    with message as materialized (
        select m.* from jsonb_to_recordset(p_messages) m(account_id text, target text, endpoint text, kind text,
            message_id uuid, body text)),
    notice as (
        insert into queue.notice (kind, alert_account, message_id, raw)
        select m.kind, m.target, m.message_id, m.body from message m
        returning notice_id, message_id)
    insert into queue.outgoing_delivery as d (notice_id, account_id, endpoint, raw)
    select n.notice_id, m.account_id, m.endpoint, true
    from notice n join message m on m.message_id = n.message_id
    returning d.delivery_id, (select m.message_id from message m join notice n on n.message_id = m.message_id
        where n.notice_id = d.notice_id), d.endpoint;
end $$;

-- queue.mute_alerts: sets the time until which alerts do not report the problems of a resource, or ends the mute if
-- p_hours is 0. Returns the time, which is the next full minute, or null. Deletes the account's mutes that have ended.
create or replace function queue.mute_alerts(
    p_account_id text, p_region text, p_resource text, p_name text, p_hours int)
returns table (muted_until timestamptz)
language plpgsql as $$
#variable_conflict use_column
begin
    delete from queue.alert_mute m
    where m.account_id = p_account_id and (m.muted_until <= clock_timestamp()
        or (m.region, m.resource, m.name) = (p_region, p_resource, p_name));
    if p_hours > 0 then
        insert into queue.alert_mute as m (account_id, region, resource, name, muted_until)
        values (p_account_id, p_region, p_resource, p_name,
            date_trunc('minute', clock_timestamp() + p_hours * interval '1 hour' + interval '1 minute'))
        on conflict (account_id, region, resource, name) do update set muted_until = excluded.muted_until
        returning m.muted_until into muted_until;
    end if;
    return next;
end $$;

-- queue.list_alert_mutes: returns the mutes of an account that have not ended, in a region and of the whole account.
create or replace function queue.list_alert_mutes(p_account_id text, p_region text)
returns table (resource text, name text, muted_until timestamptz)
language sql stable as $$
select m.resource, m.name, m.muted_until from queue.alert_mute m
where m.account_id = p_account_id and m.region in (p_region, '') and m.muted_until > clock_timestamp()
order by m.resource, m.name
$$;
