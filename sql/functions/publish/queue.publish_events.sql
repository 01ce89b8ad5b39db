-- queue.publish_events: sends an event to every queue, URL and event bus that is bound to its routing key, in this
-- transaction.
--   `p_body` is the message as JSON text.
--   `p_attributes` contains the message's attributes in SQS's format.
--   `p_facts` contains the values that filter policies compare. Null means that the message is not an object, so no
--     filter policy matches.
--   `p_delay` is the delay for queues, in seconds.
--   `p_trace` is the trace header for messages and deliveries.
--   `p_error_as_row` is true if the function returns the error RequestThrottled in a row instead of raising QU009.
-- A queue with several matching bindings receives one message, and a bus one event. In a FIFO queue, the message's
-- group is the routing key, and the message has no delay. On a bus, the event is JSON with the routing key and the
-- headers as metadata. Its group is the routing key, unless the key is longer than an EventGroupId.
-- Returns a row for each queue. `error` has the meaning of send_messages, and a queue with an error receives no
-- message. The last row has no ARN, and its id is the number of URLs. If the account has too many deliveries and a URL
-- is bound, stores nothing and returns RequestThrottled or raises QU009. Takes the locks of send_messages in the order
-- of ARNs, and then those of put_bus_events.
-- This file also contains matching_bindings, routing_key_matches and match_event.
create or replace function queue.publish_events(
    p_account_id text, p_region text, p_routing_key text, p_body text, p_attributes jsonb, p_headers jsonb,
    p_facts jsonb, p_delay int default null, p_trace text default null, p_error_as_row boolean default false)
returns table (arn text, id bigint, error text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_bound queue.binding[];
    v_queue text;
    v_size int := octet_length(p_body) + coalesce((select sum(octet_length(a.key) + octet_length(a.value ->> 'DataType')
        + octet_length(a.value ->> 'StringValue')) from jsonb_each(p_attributes) a), 0);
begin
    perform queue.check_routing_key(p_routing_key);
    v_bound := array(
        select b from queue.matching_bindings(p_account_id, p_region, p_routing_key, coalesce(p_facts, '{}')) b);
    -- The limit of deliveries
    if exists (select from queue.delivery_excess e where e.account_id = p_account_id and e.protocol = '')
        and exists (select from unnest(v_bound) b where b.protocol in ('http', 'https'))
    then
        if not p_error_as_row then
            raise exception 'too many deliveries of account % wait', p_account_id using errcode = 'QU009';
        end if;
        return query select null::text, null::bigint, 'RequestThrottled'::text;
        return;
    end if;
    -- Messages for queues
    for v_queue in
        select distinct b.endpoint from unnest(v_bound) b where b.protocol = 'queue' order by 1
    loop
        return query
        select v_queue, s.id, s.error
        from queue.send_messages(
            p_queues => array[v_queue], p_message_ids => array[gen_random_uuid()], p_bodies => array[p_body],
            p_sizes => array[v_size], p_attributes => array[p_attributes],
            p_system => array[queue.system_attributes(null, p_trace)],
            p_delays => case when p_delay is not null and not queue.is_fifo_name(v_queue) then array[p_delay] end,
            p_groups => case when queue.is_fifo_name(v_queue) then array[p_routing_key] end,
            p_deduplication_ids => case when queue.is_fifo_name(v_queue) then array[gen_random_uuid()::text] end) s;
    end loop;
    -- Events on buses
    perform queue.put_bus_events(
        p_bus => b.endpoint, p_account => p_account_id, p_event_ids => array[gen_random_uuid()],
        p_content_types => array[1::smallint], p_data => array[convert_to(p_body, 'UTF8')],
        p_metadata => array[queue.build_event_metadata(jsonb_build_object('routing_key', p_routing_key), p_attributes)],
        p_groups => array[case when length(p_routing_key) <= 128 then p_routing_key end], p_is_application => true)
    from (select distinct u.endpoint from unnest(v_bound) u where u.protocol = 'bus') b;
    -- Deliveries to URLs
    perform queue.wake_deliveries();
    return query
    with bound as materialized (select b.* from unnest(v_bound) b where b.protocol in ('http', 'https')),
    notice as (
        insert into queue.notice (kind, topic_arn, message_id, routing_key, raw, headers, attributes, trace)
        select 'event', concat_ws(':', 'arn:aws:sns', p_region, p_account_id, p_routing_key), gen_random_uuid(),
            p_routing_key, p_body, p_headers, p_attributes, p_trace
        where exists (select from bound) returning notice_id),
    stored as (
        insert into queue.outgoing_delivery (notice_id, account_id, binding_id, endpoint, raw)
        select n.notice_id, p_account_id, b.binding_id, b.endpoint, not b.envelope from notice n, bound b
        returning delivery_id)
    select null::text, count(*), null::text from stored;
end $$;

-- queue.matching_bindings: returns the bindings whose patterns match a routing key and whose filter policies match an
-- event. `p_facts` contains the values of the event. If p_facts is null, the function ignores filter policies. Uses the
-- indexes binding_account_id_region_pattern_protocol_endpoint_key and binding_wildcard.
create or replace function queue.matching_bindings(
    p_account_id text, p_region text, p_routing_key text, p_facts jsonb default null)
returns setof queue.binding
language sql stable as $$
select b.* from queue.binding b
where b.account_id = p_account_id and b.region = p_region and b.literal and b.pattern = p_routing_key
    and (b.filter is null or p_facts is null or queue.policy_matches(b.filter, p_facts))
union all
select b.* from queue.binding b
where b.account_id = p_account_id and b.region = p_region and not b.literal
    and b.segments[1] in ('*', '#', split_part(p_routing_key, '.', 1))
    and queue.routing_key_matches(b.segments, string_to_array(p_routing_key, '.'))
    and (b.filter is null or p_facts is null or queue.policy_matches(b.filter, p_facts))
$$;

-- queue.routing_key_matches: returns whether the segments of a routing key match a pattern. `*` matches one segment,
-- and `#` matches any number of segments, including zero, as in AMQP topic exchanges. The time is at most proportional
-- to the product of the two lengths.
create or replace function queue.routing_key_matches(p_pattern text[], p_key text[]) returns boolean
language plpgsql immutable parallel safe as $$
declare
    v_pattern int := 1;
    v_key int := 1;
    -- This is the last `#` of the pattern, and the last segment of the key that this `#` matches.
    v_last_hash int := 0;
    v_hash_end int := 0;
    v_patterns int := cardinality(p_pattern);
    v_keys int := cardinality(p_key);
begin
    while v_key <= v_keys loop
        if v_pattern <= v_patterns and p_pattern[v_pattern] = '#' then
            v_last_hash := v_pattern;
            v_hash_end := v_key;
            v_pattern := v_pattern + 1;
        elsif v_pattern <= v_patterns and p_pattern[v_pattern] in ('*', p_key[v_key]) then
            v_pattern := v_pattern + 1;
            v_key := v_key + 1;
        elsif v_last_hash > 0 then
            v_hash_end := v_hash_end + 1;
            v_key := v_hash_end;
            v_pattern := v_last_hash + 1;
        else
            return false;
        end if;
    end loop;
    while v_pattern <= v_patterns and p_pattern[v_pattern] = '#' loop
        v_pattern := v_pattern + 1;
    end loop;
    return v_pattern > v_patterns;
end $$;

-- queue.match_event: returns the bindings whose patterns match a routing key. Ignores filter policies.
create or replace function queue.match_event(p_account_id text, p_region text, p_routing_key text)
returns table (binding_id bigint, pattern text, protocol text, endpoint text, envelope boolean, filter_policy text,
    created_at_ms bigint)
language sql stable as $$
select b.binding_id, b.pattern, b.protocol, b.endpoint, b.envelope, b.filter_policy, queue.epoch_ms(b.created_at)
from queue.matching_bindings(p_account_id, p_region, p_routing_key) b
order by b.binding_id
$$;
