-- queue.claim_event_subscribers: locks the delivery of a bus until the end of the transaction, and returns the
-- subscribers that have events to receive. Returns no row if another worker delivers this bus.
--   `page` is the last page that the subscriber has received.
--   `revision` changes with the subscriber's configuration.
--   `blocked` has the groups of a FIFO subscriber of which an event waits.
-- Returns all subscribers that follow the bus's cursor. With p_replays, returns of the others the one that has waited
-- for the longest, so that replays take turns, unless the replays pause (read_replay_pause). A subscriber of which
-- 10,000 events wait receives no more events for now, if it keeps an order or its target is outside the database.
-- This file also contains list_blocked_groups.
create or replace function queue.claim_event_subscribers(p_bus_id bigint, p_replays boolean)
returns table (subscriber_id bigint, revision timestamptz, page bigint, first_page bigint, follows boolean,
    blocked text[])
language plpgsql as $$
#variable_conflict use_column
declare
    -- A subscriber reads no further while so many of its events wait.
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
    return query
    with last as materialized (
        select coalesce((
            select p.page from queue.event_page p where p.bus_id = p_bus_id order by p.page desc limit 1), 0) as page)
    (select s.subscriber_id, s.updated_at, c.page, s.first_page, true,
        case when s.type = 'FIFO' then queue.list_blocked_groups(s.subscriber_id) end
    from queue.event_subscriber s, last l, queue.read_event_cursor(p_bus_id, 0) c(page)
    where not p_replays and s.bus_id = p_bus_id and s.follows and s.state = 'RUNNING' and s.deliverable
        and not s.revoked and c.page < l.page)
    union all
    (select s.subscriber_id, s.updated_at, c.page, s.first_page, false,
        case when s.type = 'FIFO' then queue.list_blocked_groups(s.subscriber_id) end
    from queue.event_subscriber s
    cross join lateral (
        select x.page, x.version from queue.event_cursor x
        where x.bus_id = p_bus_id and x.subscriber_id = s.subscriber_id order by x.version desc limit 1) c
    where p_replays and s.bus_id = p_bus_id and not s.follows and s.state = 'RUNNING' and s.deliverable
        and not s.revoked and s.subscriber_id <> all (v_full)
        and queue.read_replay_pause((select clock_timestamp())) is null
    order by c.version limit 1);
end $$;

-- queue.list_blocked_groups: returns the groups of which an event of a FIFO subscriber waits.
create or replace function queue.list_blocked_groups(p_subscriber_id bigint) returns text[]
language sql stable
return array(
    select distinct r.group_key from queue.event_retry r
    where r.subscriber_id = p_subscriber_id and r.group_key is not null);
