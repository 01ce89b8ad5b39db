-- Calls of the worker that delivers events. A step is one transaction: claim, read, send, settle.

-- queue.read_event_subscribers: returns the configurations of subscribers.
create or replace function queue.read_event_subscribers(p_ids bigint[])
returns table (subscriber_id bigint, arn text, bus_arn text, account_id text, region text, type text,
    created_at timestamptz, target_arn text, configuration jsonb, moved_to timestamptz, moved_at timestamptz,
    carrier text)
language sql stable as $$
select s.subscriber_id, s.arn, s.bus_arn, s.account_id, s.region, s.type, s.created_at, s.target_arn, s.configuration,
    s.moved_to, s.moved_at, s.carrier
from queue.event_subscriber s where s.subscriber_id = any (p_ids)
$$;

-- queue.read_event_pages: returns the events of the pages after p_page, in the order of their delivery. Returns whole
-- pages with up to p_events events and p_bytes bytes, but at least one page. The first row has no event. Its page is
-- the last page that the caller has read with this call.
create or replace function queue.read_event_pages(p_bus_id bigint, p_page bigint, p_events int, p_bytes bigint)
returns table (page bigint, number bigint, ingested_at timestamptz, event_id uuid, content_type smallint, data bytea,
    account_id text, group_id text, deduplication_id text, source text, detail_type text, metadata jsonb, passed text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_page queue.event_page;
    v_last bigint;
    v_bytes bigint := 0;
    v_numbers bigint[] := '{}';
    v_places bigint[] := '{}';
    v_first_at timestamptz;
    v_last_at timestamptz;
begin
    -- A loop reads a few pages in advance, and not all that the limit permits.
    for v_page in
        select * from queue.event_page x where x.bus_id = p_bus_id and x.page > p_page order by x.page limit p_events
    loop
        v_bytes := v_bytes + v_page.bytes;
        exit when v_last is not null
            and (cardinality(v_numbers) + cardinality(v_page.numbers) > p_events or v_bytes > p_bytes);
        v_last := v_page.page;
        v_numbers := v_numbers || v_page.numbers;
        v_places := v_places || array_fill(v_page.page, array[cardinality(v_page.numbers)]);
        v_first_at := least(v_first_at, v_page.first_at);
        v_last_at := greatest(v_last_at, v_page.last_at);
    end loop;
    if v_last is null then
        return;
    end if;
    return query select v_last, null::bigint, null::timestamptz, null::uuid, null::smallint, null::bytea,
        null::text, null::text, null::text, null::text, null::text, null::jsonb, null::text;
    -- With the times as constants, PostgreSQL reads and locks only the partitions of the pages.
    return query execute format(
        'select u.page, e.number, e.ingested_at, e.event_id, e.content_type, e.data, e.account_id, e.group_id, '
        'e.deduplication_id, e.source, e.detail_type, e.metadata, e.passed '
        'from unnest($1, $2) with ordinality u(number, page, n) '
        'join queue.event e on e.number = u.number and e.ingested_at between %L and %L order by u.n',
        v_first_at, v_last_at)
    using v_numbers, v_places;
end $$;

-- queue.wake_blocked_groups: makes the first waiting event of each group due, if it waits behind no other event. The
-- first attempt for a target outside the database follows after the batch window.
create or replace function queue.wake_blocked_groups(p_subscribers bigint[], p_groups text[]) returns void
language plpgsql as $$
begin
    update queue.event_retry r
    set due_at = clock_timestamp() + case when r.carrier is not null and r.attempts = 0
        then make_interval(secs => coalesce((
            select s.batch_window_seconds from queue.event_subscriber s where s.subscriber_id = r.subscriber_id), 0))
        else interval '0' end
    where r.due_at = 'infinity' and r.retry_id = any (array(
        select h.retry_id
        from (select distinct u.subscriber_id, u.group_key
              from unnest(p_subscribers, p_groups) u(subscriber_id, group_key)
              where u.group_key is not null) g
        cross join lateral (
            select x.retry_id from queue.event_retry x
            where x.subscriber_id = g.subscriber_id and x.group_key = g.group_key order by x.retry_id limit 1) h));
end $$;

-- queue.close_event_batches: ends the batch windows of subscribers whose waiting events fill a batch.
create or replace function queue.close_event_batches(p_subscribers bigint[]) returns void
language sql as $$
with open as materialized (
    select r.retry_id, r.due_at, s.batch_size, count(*) over w as events, row_number() over w as n
    from queue.event_subscriber s
    join queue.event_retry r on r.subscriber_id = s.subscriber_id and r.attempts = 0 and r.lease is null
    where s.subscriber_id = any (p_subscribers) and s.carrier is not null and s.batch_window_seconds > 0
    window w as (partition by s.subscriber_id order by r.retry_id rows between unbounded preceding
        and unbounded following))
update queue.event_retry r set due_at = clock_timestamp()
from open o
where r.retry_id = o.retry_id and o.due_at < 'infinity' and o.due_at > (select clock_timestamp())
    and o.n <= o.events / o.batch_size * o.batch_size
$$;

-- queue.claim_event_retries: returns up to p_limit due retries of a bus with their events, locked until the end of the
-- transaction. Takes the lock of claim_event_subscribers. The data is null if the bus retains the event no longer.
-- Retries of stopped subscribers wait. The events that wait behind a due event follow it, at most p_limit.
create or replace function queue.claim_event_retries(p_bus_id bigint, p_limit int)
returns table (retry_id bigint, subscriber_id bigint, revision timestamptz, group_key text, attempts int,
    age_seconds double precision, number bigint, ingested_at timestamptz, event_id uuid, content_type smallint,
    data bytea, account_id text, group_id text, deduplication_id text, source text, detail_type text, metadata jsonb,
    passed text)
language plpgsql as $$
#variable_conflict use_column
begin
    if not pg_try_advisory_xact_lock(queue.event_delivery_key(p_bus_id)) then
        return;
    end if;
    return query
    with due as materialized (
        select r.*, s.updated_at from queue.event_retry r
        join queue.event_subscriber s
            on s.subscriber_id = r.subscriber_id and s.state = 'RUNNING' and s.deliverable and not s.revoked
        where r.bus_id = p_bus_id and r.carrier is null and r.due_at <= (select clock_timestamp())
        order by r.due_at limit p_limit for update of r skip locked),
    claimed as (
        select * from due
        union all
        select x.*, d.updated_at from due d
        cross join lateral (
            select r.* from queue.event_retry r
            where r.subscriber_id = d.subscriber_id and r.group_key = d.group_key and r.retry_id > d.retry_id
            order by r.retry_id limit p_limit) x)
    select d.retry_id, d.subscriber_id, d.updated_at, d.group_key, d.attempts,
        coalesce(extract(epoch from clock_timestamp() - d.first_attempt_at), 0)::double precision, d.number,
        d.ingested_at, e.event_id, e.content_type, e.data, e.account_id, e.group_id, e.deduplication_id, e.source,
        e.detail_type, e.metadata, e.passed
    from claimed d left join queue.event e on e.number = d.number and e.ingested_at = d.ingested_at
    order by d.retry_id;
end $$;

-- queue.settle_event_retries: deletes the retries whose delivery has ended, and stores when the others are due.
--   `p_subscribers` and `p_groups` are those of the ended retries. The next events of the groups become due.
--   `p_held` are leased events that wait behind an event of their group again. A retry without a code was no attempt.
create or replace function queue.settle_event_retries(
    p_ended bigint[], p_subscribers bigint[], p_groups text[], p_again bigint[], p_codes text[], p_messages text[],
    p_delays_ms int[], p_held bigint[])
returns table (retries int)
language plpgsql as $$
begin
    delete from queue.event_retry r where r.retry_id = any (p_ended);
    update queue.event_retry r set due_at = 'infinity', lease = null
    where r.retry_id = any (p_held) and r.lease is not null;
    update queue.event_retry r
    set attempts = r.attempts + (u.code is not null)::int,
        first_attempt_at = coalesce(r.first_attempt_at, clock_timestamp()), lease = null,
        error_code = coalesce(u.code, r.error_code), error_message = coalesce(u.message, r.error_message),
        due_at = clock_timestamp() + u.ms * interval '1 millisecond'
    from unnest(p_again, p_codes, p_messages, p_delays_ms) u(retry_id, code, message, ms)
    where r.retry_id = u.retry_id;
    get diagnostics retries = row_count;
    perform queue.wake_blocked_groups(p_subscribers, p_groups);
    return next;
end $$;

-- queue.add_event_outcomes: adds what became of events since the last call of the same worker, by subscriber.
--   `p_codes` and `p_messages` are the last refusal of each subscriber, or null.
create or replace function queue.add_event_outcomes(
    p_buses bigint[], p_subscribers bigint[], p_delivered bigint[], p_refused bigint[], p_failed bigint[],
    p_codes text[], p_messages text[])
returns table (stored int)
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_minute timestamptz := date_trunc('minute', v_now);
begin
    insert into queue.event_outcome as o (bus_id, subscriber_id, delivered, refused, failed, minute,
        delivered_in_minute, refused_at, error_code, error_message, failed_at, failed_since)
    select u.bus_id, u.subscriber_id, u.delivered, u.refused, u.failed, v_minute, u.delivered,
        case when u.code is not null then v_now end, u.code, u.message,
        case when u.failed > 0 then v_now end, case when u.failed > 0 then v_now end
    from unnest(p_buses, p_subscribers, p_delivered, p_refused, p_failed, p_codes, p_messages)
        u(bus_id, subscriber_id, delivered, refused, failed, code, message)
    order by u.bus_id, u.subscriber_id
    on conflict (bus_id, subscriber_id) do update
    set delivered = o.delivered + excluded.delivered, refused = o.refused + excluded.refused,
        failed = o.failed + excluded.failed, minute = v_minute,
        delivered_in_minute = excluded.delivered + case when o.minute = v_minute then o.delivered_in_minute else 0 end,
        delivered_before = case
            when o.minute = v_minute then o.delivered_before
            when o.minute = v_minute - interval '1 minute' then o.delivered_in_minute else 0 end,
        refused_at = coalesce(excluded.refused_at, o.refused_at),
        error_code = coalesce(excluded.error_code, o.error_code),
        error_message = case when excluded.error_code is null then o.error_message else excluded.error_message end,
        failed_at = coalesce(excluded.failed_at, o.failed_at),
        failed_since = case
            when o.failed_at > v_now - interval '15 minutes' then o.failed_since
            else coalesce(excluded.failed_since, o.failed_since) end,
        failed_before = case
            when excluded.failed = 0 or o.failed_at > v_now - interval '15 minutes' then o.failed_before
            else o.failed end;
    get diagnostics stored = row_count;
    return next;
end $$;
