-- queue.store_minutes: adds up to p_limit rows of queue.activity to queue.minute and queue.account_minute, and counts
-- the messages of their queues (store_gauges). If more than p_max queues had activity, only the busiest queues have
-- rows in queue.minute. Deletes rows that are older than 25 hours, and up to p_limit rows of queue.unjudged_event.
-- After a call, all processes pause together. The pause lasts p_pause_ms, or 20 times the duration of the call if that
-- is longer. A p_pause_ms of 0 means no pause. Long calls cause long pauses because each call reads the dead rows of
-- queue.activity that an old snapshot keeps.
--   `calls` is the number of added rows of queue.activity.
--   `queues` is the number of queues that these rows belong to.
--   `unjudged` is the number of unjudged events.
--   `unjudged_key` is the routing key of an unjudged event.
-- Returns no row during the pause, or while another process runs this function. Skips a locked worker's row. Uses the
-- indexes minute_pkey, minute_starts_at and account_minute_starts_at.
create or replace function queue.store_minutes(p_limit int, p_max int, p_pause_ms int)
returns table (calls bigint, queues int, unjudged bigint, unjudged_key text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_ids int[];
begin
    -- The pause
    insert into queue.worker_position (worker, position, ran_at) values ('minutes', 0, '-infinity')
    on conflict do nothing;
    perform from queue.worker_position w
    -- A time in the future does not count, because it means that the clock went back.
    where w.worker = 'minutes'
        and (p_pause_ms = 0 or w.ran_at > v_now
            or w.ran_at <= v_now - greatest(p_pause_ms, w.pause_ms) * interval '1 millisecond')
    for update skip locked;
    if not found then
        return;
    end if;
    -- Activity by minutes
    with taken as materialized (
        delete from queue.activity a where a.ctid = any (array(select e.ctid from queue.activity e limit p_limit))
        returning a.*),
    summed as (
        select t.queue_id, date_trunc('minute', t.happened_at, 'UTC') as starts_at, sum(t.sent) as sent,
            sum(t.received) as received, sum(t.redelivered) as redelivered, sum(t.deleted) as deleted,
            sum(t.dead_lettered) as dead_lettered, sum(t.expired) as expired,
            max(t.happened_at) filter (where t.received > 0) as last_received_at,
            count(*) as calls
        from taken t group by 1, 2),
    busiest as materialized (
        select s.queue_id from summed s
        where s.queue_id in (select q.queue_id from queue.queues q)
        group by s.queue_id order by sum(s.calls) desc limit p_max),
    stored as (
        insert into queue.minute as m (queue_id, starts_at, sent, received, redelivered, deleted, dead_lettered,
            expired, last_received_at)
        select s.queue_id, s.starts_at, s.sent, s.received, s.redelivered, greatest(s.deleted, 0), s.dead_lettered,
            s.expired,
            coalesce(s.last_received_at, (
                select p.last_received_at from queue.minute p
                where p.queue_id = s.queue_id and p.starts_at <= s.starts_at order by p.starts_at desc limit 1))
        from summed s where s.queue_id in (select b.queue_id from busiest b)
        order by s.queue_id, s.starts_at
        on conflict (queue_id, starts_at) do update
        set sent = m.sent + excluded.sent, received = m.received + excluded.received,
            redelivered = m.redelivered + excluded.redelivered, deleted = greatest(m.deleted + excluded.deleted, 0),
            dead_lettered = m.dead_lettered + excluded.dead_lettered, expired = m.expired + excluded.expired,
            last_received_at = greatest(m.last_received_at, excluded.last_received_at)),
    of_accounts as (
        insert into queue.account_minute as m (account_id, region, starts_at, entered, finished)
        select q.account_id, q.region, s.starts_at, sum(s.sent), greatest(sum(s.deleted + s.dead_lettered), 0)
        from summed s join queue.queues q on q.queue_id = s.queue_id
        group by 1, 2, 3 order by 1, 2, 3
        on conflict (account_id, region, starts_at) do update
        set entered = m.entered + excluded.entered, finished = m.finished + excluded.finished)
    select array(select b.queue_id from busiest b), (select count(*) from taken) into v_ids, calls;
    perform queue.store_gauges(v_ids);
    -- Old minutes, and events that filters could not examine
    delete from queue.minute m where m.ctid = any (array(
        select e.ctid from queue.minute e
        where e.starts_at < v_now - interval '25 hours' order by e.starts_at limit 2 * p_max + 1000));
    delete from queue.account_minute m where m.ctid = any (array(
        select e.ctid from queue.account_minute e
        where e.starts_at < v_now - interval '25 hours' order by e.starts_at limit 2 * p_max + 1000));
    with taken as (
        delete from queue.unjudged_event u
        where u.ctid = any (array(select e.ctid from queue.unjudged_event e limit p_limit))
        returning u.routing_key)
    select count(*), min(t.routing_key) into unjudged, unjudged_key from taken t;
    update queue.worker_position w
    set ran_at = clock_timestamp(), pause_ms = 20 * extract(epoch from clock_timestamp() - v_now) * 1000
    where w.worker = 'minutes';
    queues := cardinality(v_ids);
    return next;
end $$;
