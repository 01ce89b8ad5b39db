-- queue.claim_event_subscribers: locks the delivery of a bus until the end of the transaction, and returns the
-- subscribers that have new events. Returns no row if another worker delivers the events of this bus.
-- Without p_replays, the function returns three kinds of rows. The first row has no subscriber. Its `page` is the
-- cursor of the bus, and its `version` changes whenever other subscribers follow this cursor. Then, if `version`
-- differs from p_version, come the subscribers that follow the cursor. The last rows are the FIFO subscribers that have
-- events to retry. `blocked` contains the groups of these events: the worker holds back later events of these groups.
-- With p_replays, the function returns one subscriber that has a separate cursor. It chooses the subscriber that has
-- waited longest, so that replays take turns. It returns no row while replays pause (read_replay_pause). `page` is the
-- last page that the subscriber has received.
-- `revision` changes with the configuration of the subscriber.
-- The function stops new events for a subscriber that has 10,000 events to retry, if the subscriber is FIFO or its
-- target is outside the database.
-- This file also contains list_blocked_groups.
create or replace function queue.claim_event_subscribers(
    p_bus_id bigint, p_replays boolean, p_version uuid default null)
returns table (subscriber_id bigint, revision timestamptz, page bigint, first_page bigint, blocked text[], version uuid)
language plpgsql as $$
#variable_conflict use_column
declare
    -- A subscriber that has this many events to retry receives no new events.
    c_waiting constant int := 10000;
    v_full bigint[];
begin
    if not pg_try_advisory_xact_lock(queue.event_delivery_key(p_bus_id)) then
        return;
    end if;
    v_full := array(
        select w.subscriber_id from queue.list_held_subscribers() w
        where (
            select s.bus_id = p_bus_id and (s.type = 'FIFO' or s.carrier is not null) and s.state = 'RUNNING'
            from queue.event_subscriber s where s.subscriber_id = w.subscriber_id)
            and (select count(*) = c_waiting from (
                select from queue.event_retry r where r.subscriber_id = w.subscriber_id limit c_waiting) r));
    perform queue.set_event_cursor(p_bus_id, s.subscriber_id,
        greatest(queue.read_event_cursor(p_bus_id, 0), s.first_page))
    from queue.event_subscriber s where s.subscriber_id = any (v_full) and s.follows;
    update queue.event_subscriber s set follows = false where s.subscriber_id = any (v_full) and s.follows;
    if found then
        perform queue.note_event_subscribers(p_bus_id);
    end if;
    if p_replays then
        return query
        select s.subscriber_id, s.updated_at, c.page, s.first_page,
            case when s.type = 'FIFO' then queue.list_blocked_groups(s.subscriber_id) end, null::uuid
        from queue.event_subscriber s
        cross join lateral (
            select x.page, x.version from queue.event_cursor x
            where x.bus_id = p_bus_id and x.subscriber_id = s.subscriber_id order by x.version desc limit 1) c
        where s.bus_id = p_bus_id and not s.follows and s.state = 'RUNNING' and s.deliverable and not s.revoked
            and s.subscriber_id <> all (v_full) and queue.read_replay_pause((select clock_timestamp())) is null
        order by c.version limit 1;
        return;
    end if;
    return query
    with head as materialized (
        select b.subscribers_version as version, c.page
        from queue.event_bus b cross join queue.read_event_cursor(p_bus_id, 0) c(page)
        where b.bus_id = p_bus_id and c.page < (
            select p.page from queue.event_page p where p.bus_id = p_bus_id order by p.page desc limit 1))
    select null::bigint, null::timestamptz, h.page, null::bigint, null::text[], h.version from head h
    union all
    select s.subscriber_id, s.updated_at, h.page, s.first_page, null, h.version
    from head h join queue.event_subscriber s on s.bus_id = p_bus_id and s.follows and s.state = 'RUNNING'
        and s.deliverable and not s.revoked
    where h.version is distinct from p_version
    union all
    select s.subscriber_id, s.updated_at, h.page, s.first_page, queue.list_blocked_groups(s.subscriber_id), h.version
    from head h cross join queue.list_held_subscribers() w cross join lateral (
        select * from queue.event_subscriber x where x.subscriber_id = w.subscriber_id limit 1) s
    where s.bus_id = p_bus_id and s.type = 'FIFO' and s.follows and s.state = 'RUNNING';
end $$;

-- queue.list_blocked_groups: returns the groups in which a FIFO subscriber has events to retry.
create or replace function queue.list_blocked_groups(p_subscriber_id bigint) returns text[]
language sql stable
return array(
    select distinct r.group_key from queue.event_retry r
    where r.subscriber_id = p_subscriber_id and r.group_key is not null);
