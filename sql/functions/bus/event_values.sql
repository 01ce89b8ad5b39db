-- Functions that the functions of event buses share.

-- queue.retention_class: returns the days after which the partition of a bus's events is dropped. Buses with similar
-- retention periods share partitions.
create or replace function queue.retention_class(p_days int) returns smallint
language sql immutable parallel safe
return case when p_days <= 1 then 1 when p_days <= 2 then 2 when p_days <= 4 then 4 when p_days <= 8 then 8
    when p_days <= 16 then 16 when p_days <= 32 then 32 when p_days <= 64 then 64 when p_days <= 128 then 128
    else 365 end;

-- queue.wake_event_delivery: wakes, at commit, a worker that waits for events. Costs one index probe if no worker
-- waits.
--   `p_keeps_watcher` is true in a transaction that can stay open. notify_watchers would lock the registration until
--     its end, and no other publication could wake the worker.
create or replace function queue.wake_event_delivery(p_keeps_watcher boolean default false) returns void
language plpgsql as $$
begin
    if not p_keeps_watcher then
        perform queue.notify_watchers(-1, 'events');
    elsif exists (
        select from queue.watcher w
        where w.queue_id = -1 and w.registered_at > (select clock_timestamp()) - interval '5 seconds')
    then
        perform queue.notify_processes('events');
    end if;
end $$;

-- queue.event_periods: returns the periods of a retention class's partitions that begin before p_until, from the period
-- of p_from on. A period is a day (UTC), or a week if the class has more than 32 days.
create or replace function queue.event_periods(p_class int, p_from timestamptz, p_until timestamptz)
returns table (starts_at timestamptz, ends_at timestamptz)
language sql immutable parallel safe as $$
select d at time zone 'utc', (d + k.length) at time zone 'utc'
from (select case when p_class > 32 then interval '7 days' else interval '1 day' end as length,
        case when p_class > 32 then 'week' else 'day' end as name) k
cross join lateral generate_series(
    date_trunc(k.name, p_from at time zone 'utc'), p_until at time zone 'utc', k.length) d
$$;

-- queue.add_event_partitions: creates the partitions of a retention class for the present and the next two days. Has no
-- effect on periods that already have a partition, or whose events are in the default partition. If another worker
-- interferes or the default partition stays locked, the next run tries again. Locks the default partition. Runs with
-- the rights of its owner, which owns the table.
create or replace function queue.add_event_partitions(p_class int) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
declare
    v_period record;
    v_part text;
    v_taken boolean;
begin
    for v_period in select * from queue.event_periods(p_class, now(), now() + interval '2 days') loop
        v_part := format('event_%s_%s', p_class, to_char(v_period.starts_at at time zone 'utc', 'YYYYMMDD'));
        continue when to_regclass('queue.' || v_part) is not null;
        execute 'select exists (select from queue.event_default e '
            'where e.retention_class = $1 and e.ingested_at >= $2 and e.ingested_at < $3)'
        into v_taken using p_class, v_period.starts_at, v_period.ends_at;
        continue when v_taken;
        execute format('create table queue.%I partition of queue.event for values from (%s, %L) to (%s, %L)',
            v_part, p_class, v_period.starts_at, p_class, v_period.ends_at);
    end loop;
exception when check_violation or unique_violation or duplicate_table or lock_not_available then
    null;
end $$;

-- queue.event_delivery_key: returns the key of the advisory lock that a worker holds while it delivers a bus's events.
create or replace function queue.event_delivery_key(p_bus_id bigint) returns bigint
language sql immutable parallel safe
return (x'5053'::bigint << 48) | p_bus_id;

-- queue.find_last_event_page: gives places to all events that have been committed, and returns the last page of a bus,
-- or 0. Every event that commits later has a later page.
create or replace function queue.find_last_event_page(p_bus_id bigint) returns bigint
language plpgsql as $$
begin
    loop
        exit when queue.sequence_events(2000, true) = 0;
    end loop;
    return coalesce((
        select p.page from queue.event_page p where p.bus_id = p_bus_id order by p.page desc limit 1), 0);
end $$;

-- queue.read_event_cursor: returns the last page that has been delivered, or 0. The subscriber 0 stands for all that
-- follow the bus's cursor.
create or replace function queue.read_event_cursor(p_bus_id bigint, p_subscriber_id bigint) returns bigint
language sql stable
return coalesce((
    select c.page from queue.event_cursor c
    where c.bus_id = p_bus_id and c.subscriber_id = p_subscriber_id order by c.version desc limit 1), 0);

-- queue.set_event_cursor: stores the last page that has been delivered. The caller has locked the delivery of the bus,
-- or the subscriber.
--   `p_pause_ms` is the pause of all replays after this call (read_replay_pause).
create or replace function queue.set_event_cursor(
    p_bus_id bigint, p_subscriber_id bigint, p_page bigint, p_pause_ms int default 0)
returns void
language plpgsql as $$
begin
    delete from queue.event_cursor c where c.bus_id = p_bus_id and c.subscriber_id = p_subscriber_id;
    insert into queue.event_cursor (bus_id, subscriber_id, page, resumes_at)
    values (p_bus_id, p_subscriber_id, p_page,
        case when p_pause_ms > 0 then clock_timestamp() + p_pause_ms * interval '1 millisecond' end);
end $$;

-- queue.read_replay_pause: returns when the replays of all buses and archives continue, or null if they do not pause.
-- While live events arrive, a worker pauses them after each of its slices. A pause is at most a second.
create or replace function queue.read_replay_pause(p_now timestamptz) returns timestamptz
language sql stable
return greatest((
    select c.resumes_at from queue.event_cursor c
    where c.resumes_at > p_now and c.resumes_at <= p_now + interval '1 second' order by c.resumes_at desc limit 1), (
    select r.resumes_at from queue.topic_replay r
    where r.resumes_at > p_now and r.resumes_at <= p_now + interval '1 second' order by r.resumes_at desc limit 1));

-- queue.find_event_page_before: returns the last page of a bus that has no event of p_at or later, or p_last if the bus
-- has no later page.
create or replace function queue.find_event_page_before(p_bus_id bigint, p_at timestamptz, p_last bigint)
returns bigint
language sql stable
-- An event has a place only after its ingestion, so no earlier page has an event of this time.
return coalesce((
    select p.page - 1 from queue.event_page p where p.bus_id = p_bus_id and p.sequenced_at >= p_at
    order by p.sequenced_at, p.page limit 1), p_last);

-- queue.read_window_start: returns the time of the oldest event that a bus can still have.
create or replace function queue.read_window_start(p_bus queue.event_bus) returns timestamptz
language sql stable
return greatest(p_bus.retained_since, (select clock_timestamp()) - make_interval(days => p_bus.retention_days));

-- queue.list_held_subscribers: returns the subscribers for which queue.event_retry holds events. The function reads one
-- row for each subscriber in the result, and no row of another subscriber.
create or replace function queue.list_held_subscribers() returns table (subscriber_id bigint)
language sql stable as $$
with recursive held as (
    (select r.subscriber_id from queue.event_retry r order by r.subscriber_id limit 1)
    union all
    select n.subscriber_id from held h cross join lateral (
        select r.subscriber_id from queue.event_retry r
        where r.subscriber_id > h.subscriber_id order by r.subscriber_id limit 1) n)
select h.subscriber_id from held h
$$;

-- queue.list_waiting_subscribers: returns each subscriber whose events wait for a target outside the database, with the
-- time at which its first event is due. The function reads one row for each subscriber.
create or replace function queue.list_waiting_subscribers() returns table (subscriber_id bigint, due_at timestamptz)
language sql stable as $$
with recursive waiting as (
    (select r.subscriber_id, r.due_at from queue.event_retry r where r.carrier is not null
    order by r.subscriber_id, r.due_at limit 1)
    union all
    select n.subscriber_id, n.due_at from waiting w cross join lateral (
        select r.subscriber_id, r.due_at from queue.event_retry r
        where r.carrier is not null and r.subscriber_id > w.subscriber_id
        order by r.subscriber_id, r.due_at limit 1) n)
select w.subscriber_id, w.due_at from waiting w
$$;

-- queue.build_event_metadata: returns the metadata of an event that PutRawEvents would accept: p_first, and the texts
-- and numbers of message attributes, at most 100 together. Omits an attribute that is binary, or whose name is longer
-- than a key of Metadata or equals an earlier name except for case.
create or replace function queue.build_event_metadata(p_first jsonb, p_attributes jsonb) returns jsonb
language sql immutable
return p_first || coalesce((
    select jsonb_object_agg(d.key, d.value)
    from (
        select distinct on (lower(a.key)) a.key, a.value ->> 'StringValue' as value
        from jsonb_each(p_attributes) a
        where length(a.key) <= 128 and a.value ->> 'StringValue' <> ''
            and lower(a.key) <> all (select lower(k) from jsonb_object_keys(p_first) k)
        order by lower(a.key), a.key limit 98) d), '{}');

-- queue.has_due_event: returns whether an event of a subscriber that is not stopped has to be delivered again, or waits
-- for a target outside the database.
create or replace function queue.has_due_event(p_now timestamptz) returns boolean
language sql stable
return exists (
    select from queue.event_bus b cross join lateral (
        select from queue.event_retry r
        join queue.event_subscriber s on s.subscriber_id = r.subscriber_id and s.state = 'RUNNING' and s.deliverable
            and not s.revoked
        where r.bus_id = b.bus_id and r.carrier is null and r.due_at <= p_now limit 1) r)
    or exists (
        select from queue.list_waiting_subscribers() w
        join queue.event_subscriber s on s.subscriber_id = w.subscriber_id and s.state = 'RUNNING' and s.deliverable
            and not s.revoked
        where w.due_at <= p_now);
