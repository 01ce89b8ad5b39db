-- queue.move_event_subscriber: moves the position of a subscriber to a time, so that the subscriber receives the events
-- that the bus has ingested from this time on. `changed` says whether the subscriber exists and is not revoked.
-- Deletes the retries of these events, because the bus delivers the events again. Waits until the worker that delivers
-- the bus has ended its step.
create or replace function queue.move_event_subscriber(p_arn text, p_to timestamptz)
returns table (changed boolean)
language plpgsql as $$
declare
    v_found queue.event_subscriber;
    v_page bigint;
    v_groups text[];
begin
    perform pg_advisory_xact_lock(queue.event_delivery_key(s.bus_id)) from queue.event_subscriber s where s.arn = p_arn;
    select * into v_found from queue.event_subscriber s where s.arn = p_arn and not s.revoked for update;
    if not found then
        return query select false;
        return;
    end if;
    v_page := queue.find_event_page_before(v_found.bus_id, p_to, queue.find_last_event_page(v_found.bus_id));
    with gone as (
        delete from queue.event_retry r where r.subscriber_id = v_found.subscriber_id and r.ingested_at >= p_to
        returning r.group_key)
    select coalesce(array_agg(distinct g.group_key), '{}') into v_groups from gone g;
    perform queue.wake_blocked_groups(array_fill(v_found.subscriber_id, array[cardinality(v_groups)]), v_groups);
    perform queue.set_event_cursor(v_found.bus_id, v_found.subscriber_id, v_page);
    update queue.event_subscriber s
    set follows = false, first_page = v_page, moved_to = p_to, moved_at = clock_timestamp(),
        updated_at = clock_timestamp()
    where s.subscriber_id = v_found.subscriber_id;
    perform queue.note_event_subscribers(v_found.bus_id);
    perform queue.wake_event_delivery();
    return query select true;
end $$;
