-- queue.publish_event: publishes an event inside the caller's transaction. Every queue, event bus and URL that is bound
-- to the routing key receives the event. A commit delivers the event to all of them, and a rollback to none.
-- Returns the name and the message's id for each queue. A filter policy compares the message's top-level strings,
-- numbers and booleans. Raises QU003 if a key, message or delay is invalid. Raises QU009 if too many deliveries wait.
-- SQL interface.
create or replace function queue.publish_event(
    routing_key text, message jsonb, headers jsonb default null, delay int default null)
returns table (queue_name text, msg_id bigint)
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
declare
    v_facts jsonb := queue.body_facts(message);
begin
    if current_setting('max_prepared_transactions') <> '0' then
        perform queue.guard_prepare();
    end if;
    if message is null or delay not between 0 and 900 then
        raise exception 'a message is not null and a delay 0 to 900 seconds' using errcode = 'QU003';
    end if;
    perform queue.note_unjudged(routing_key, v_facts);
    return query
    select split_part(e.arn, ':', 6), e.id
    from queue.caller_account() c, queue.publish_events(
        p_account_id => c.account_id, p_region => c.region, p_routing_key => routing_key, p_body => message::text,
        p_attributes => queue.as_attributes(headers), p_headers => headers, p_facts => v_facts,
        p_delay => delay) e
    where e.arn is not null and e.error is null;
end $$;
