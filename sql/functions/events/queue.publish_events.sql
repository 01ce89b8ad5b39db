-- queue.publish_events: sends an event to every queue and URL that is bound to its routing key, in this transaction.
-- Parameters: account, region, routing key; the message as JSON text, its attributes as SQS keeps them, headers as JSON;
-- the values that filter policies compare (null: the message is not an object, so no filter policy matches); delay in
-- seconds for queues; the trace header, which its messages and deliveries keep.
-- A queue that is bound more than once gets one message. A FIFO queue gets the routing key as group.
-- Returns a row for each queue: its ARN, the message's id, and error (as send_messages: the queue gets no message). The
-- last row has no ARN, and its id is the number of URLs. If the account has too many deliveries and a URL is bound, the
-- function stores nothing: it raises QU009 or, with p_error_as_row, returns one row with the error RequestThrottled.
-- Locks: those of send_messages, in the order of ARNs. Index: delivery_excess_pkey.
create or replace function queue.publish_events(
    p_account_id text, p_region text, p_routing_key text, p_body text, p_attributes jsonb, p_headers jsonb,
    p_facts jsonb, p_delay int default null, p_trace text default null, p_error_as_row boolean default false)
returns table (arn text, id bigint, error text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_queue text;
    v_size int := octet_length(p_body) + coalesce((select sum(octet_length(a.key) + octet_length(a.value ->> 'DataType')
        + octet_length(a.value ->> 'StringValue')) from jsonb_each(p_attributes) a), 0);
begin
    perform queue.check_routing_key(p_routing_key);
    if exists (select from queue.delivery_excess e where e.account_id = p_account_id and e.protocol = '') and exists (
        select from queue.matching_bindings(p_account_id, p_region, p_routing_key, coalesce(p_facts, '{}')) b
        where b.protocol <> 'queue')
    then
        if not p_error_as_row then
            raise exception 'too many deliveries of account % wait', p_account_id using errcode = 'QU009';
        end if;
        return query select null::text, null::bigint, 'RequestThrottled'::text;
        return;
    end if;
    for v_queue in
        select distinct b.endpoint from queue.matching_bindings(p_account_id, p_region, p_routing_key,
            coalesce(p_facts, '{}')) b
        where b.protocol = 'queue' order by 1
    loop
        return query
        select v_queue, s.id, s.error
        from queue.send_messages(array[v_queue], array[gen_random_uuid()], array[p_body], array[v_size],
            array[p_attributes], array[queue.system_attributes(null, p_trace)], case when p_delay is not null and right(v_queue, 5) <> '.fifo'
                then array[p_delay] end,
            case when right(v_queue, 5) = '.fifo' then array[p_routing_key] end,
            case when right(v_queue, 5) = '.fifo' then array[gen_random_uuid()::text] end) s;
    end loop;
    perform queue.wake_deliveries();
    return query
    with bound as materialized (
        select b.* from queue.matching_bindings(p_account_id, p_region, p_routing_key, coalesce(p_facts, '{}')) b
        where b.protocol <> 'queue'),
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
