-- queue.settle_events: stores what a step has delivered. The caller has claimed the subscribers.
--   `p_subscribers` and `p_pages` are the last page of each subscriber; the subscriber 0 stands for the bus's cursor.
--   The other arrays have an element for each event that is to be delivered after `p_delays_ms`, because a target has
--     refused it, its expressions had no time, or the target is outside the database. Only a refusal has a code, and
--     is an attempt. `p_bytes` is the size of its data. Without a delay, the event waits behind another event of its
--     group.
--   `p_pause_ms` is the pause of all replays after this call.
-- A subscriber that has reached the events that the followers of the bus's cursor receive next, or without followers
-- the end of the bus, follows the cursor from now on.
create or replace function queue.settle_events(
    p_bus_id bigint, p_subscribers bigint[], p_pages bigint[], p_refused bigint[], p_numbers bigint[],
    p_times timestamptz[], p_groups text[], p_bytes int[], p_codes text[], p_messages text[], p_delays_ms int[],
    p_pause_ms int)
returns table (retries int)
language plpgsql as $$
declare
    v_now timestamptz := clock_timestamp();
    v_cursor bigint;
begin
    perform queue.set_event_cursor(p_bus_id, u.subscriber_id, u.page, p_pause_ms)
    from unnest(p_subscribers, p_pages) u(subscriber_id, page);
    v_cursor := queue.read_event_cursor(p_bus_id, 0);
    if v_cursor <= all (p_pages) and 0 <> all (p_subscribers) then
        -- The cursor does not move without followers, and a new follower can begin far after it.
        v_cursor := greatest(v_cursor, coalesce(
            (select min(s.first_page) from queue.event_subscriber s
            where s.bus_id = p_bus_id and s.follows and s.state = 'RUNNING' and s.deliverable and not s.revoked),
            (select max(p.page) from queue.event_page p where p.bus_id = p_bus_id)));
    end if;
    update queue.event_subscriber s set follows = true, first_page = u.page
    from unnest(p_subscribers, p_pages) u(subscriber_id, page)
    where s.subscriber_id = u.subscriber_id and s.state = 'RUNNING' and u.page >= v_cursor;
    if found then
        perform queue.note_event_subscribers(p_bus_id);
        delete from queue.event_cursor c using queue.event_subscriber s
        where c.bus_id = p_bus_id and c.subscriber_id = any (p_subscribers) and s.subscriber_id = c.subscriber_id
            and s.follows;
    end if;
    insert into queue.event_retry (bus_id, subscriber_id, number, ingested_at, group_key, attempts, first_attempt_at,
        due_at, error_code, error_message, bytes, carrier)
    select p_bus_id, u.subscriber_id, u.number, u.at, u.group_key, (u.code is not null)::int,
        case when u.code is not null or s.carrier is null and u.ms is not null then v_now end,
        coalesce(v_now + u.ms * interval '1 millisecond'
            + make_interval(secs => case when u.code is null then coalesce(s.batch_window_seconds, 0) else 0 end),
            'infinity'),
        u.code, u.message, u.bytes, s.carrier
    from unnest(p_refused, p_numbers, p_times, p_groups, p_bytes, p_codes, p_messages, p_delays_ms)
        with ordinality u(subscriber_id, number, at, group_key, bytes, code, message, ms, n)
    join queue.event_subscriber s on s.subscriber_id = u.subscriber_id
    order by u.n;
    get diagnostics retries = row_count;
    perform queue.wake_blocked_groups(p_refused, p_groups);
    perform queue.close_event_batches(p_refused);
    return next;
end $$;
