-- queue.next_event_work: returns buses that have live events or retries to deliver, buses that have replays, and
-- archives of topics that have replays, at most p_limit each.
--   `wait_ms` is the milliseconds until the next retry, or a second if an open transaction can have published events.
--   `live` says whether a bus with live subscribers has received events in the last second. `replays` and `archives`
--     are empty while replays pause, and `pause_ms` is the milliseconds until they continue.
-- `batches` is true if an event for a target outside the database is due, and one of p_carriers can
-- send it (claim_event_batches). An event for an API destination is due at the next turn of the destination. `has_bus`
-- is false if the installation has no bus and no archive. If no bus and no archive has work, registers the process
-- p_watcher for a notification of the next publication (watch_for_work).
-- Idle workers poll, so this function reads no subscriber that has nothing to receive.
create or replace function queue.next_event_work(
    p_watcher uuid, p_limit int, p_carriers text[], out buses bigint[], out replays bigint[], out archives bigint[],
    out wait_ms int, out batches boolean, out has_bus boolean, out live boolean, out pause_ms int)
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    -- The retries of stopped subscribers wait, and must not keep the worker awake.
    v_due timestamptz := (select min(r.due_at) from queue.event_bus b cross join lateral (
        select x.due_at from queue.event_retry x
        join queue.event_subscriber s on s.subscriber_id = x.subscriber_id and s.state = 'RUNNING' and s.deliverable
            and not s.revoked
        where x.bus_id = b.bus_id and x.carrier is null
        order by x.due_at limit 1) r);
    v_carried timestamptz := (
        select min(greatest(w.due_at, d.next_turn_at)) from queue.list_waiting_subscribers() w
        join queue.event_subscriber s on s.subscriber_id = w.subscriber_id
        left join queue.api_destination d on s.carrier = 'http' and d.arn = s.target_arn
        where s.carrier = any (p_carriers) and s.state = 'RUNNING' and s.deliverable and not s.revoked);
begin
    buses := array(
        select b.bus_id from queue.event_bus b
        cross join lateral (
            select p.page from queue.event_page p where p.bus_id = b.bus_id order by p.page desc limit 1) l
        -- With EXISTS, PostgreSQL can read all subscribers into a hash table.
        where l.page > queue.read_event_cursor(b.bus_id, 0) and (
            select true from queue.event_subscriber s
            where s.bus_id = b.bus_id and s.follows and s.state = 'RUNNING' and s.deliverable and not s.revoked
            limit 1)
        order by random() limit p_limit);
    replays := array(
        select b.bus_id from queue.event_bus b
        where (
            select true from queue.event_subscriber s
            where s.bus_id = b.bus_id and not s.follows and s.state = 'RUNNING' and s.deliverable and not s.revoked
            limit 1)
        order by random() limit p_limit);
    archives := array(
        select distinct r.archive_id from queue.topic_replay r where queue.is_replay_due(r) limit p_limit);
    if replays <> '{}' or archives <> '{}' then
        live := exists (
            select from queue.event_bus b
            cross join lateral (
                select p.sequenced_at from queue.event_page p where p.bus_id = b.bus_id order by p.page desc limit 1) l
            where l.sequenced_at > v_now - interval '1 second' and (
                select true from queue.event_subscriber s
                where s.bus_id = b.bus_id and s.follows and s.state = 'RUNNING' and s.deliverable and not s.revoked
                limit 1));
        pause_ms := ceil(extract(epoch from queue.read_replay_pause(v_now) - v_now) * 1000);
        if pause_ms is not null then
            replays := '{}';
            archives := '{}';
        end if;
    end if;
    live := coalesce(live, false);
    buses := buses || array(
        select b.bus_id from queue.event_bus b
        where b.bus_id <> all (buses) and (
            select true from queue.event_retry r
            join queue.event_subscriber s on s.subscriber_id = r.subscriber_id and s.state = 'RUNNING' and s.deliverable
                and not s.revoked
            where r.bus_id = b.bus_id and r.carrier is null and r.due_at <= v_now limit 1)
        limit p_limit);
    v_due := least(v_due, (
        select min(case when r.due_at > v_now then r.due_at else r.ends_at end) from queue.topic_replay r
        where r.status in ('Pending', 'In progress') and not queue.is_replay_due(r)));
    if exists (select from queue.event_gap) then       -- An open transaction can publish.
        v_due := least(v_due, v_now + interval '1 second');
    end if;
    batches := coalesce(v_carried <= v_now, false);
    v_due := nullif(least(v_due, v_carried), 'infinity');
    if v_due is not null then
        wait_ms := least(3600000, greatest(0, ceil(extract(epoch from v_due - v_now) * 1000)))::int;
    end if;
    has_bus := exists (select from queue.event_bus);
    if has_bus and buses = '{}' and replays = '{}' and archives = '{}' and not batches then
        perform queue.watch_for_work(-1, p_watcher);
    end if;
end $$;
