-- queue.publish_messages: publishes messages to a topic: to all of its queues and endpoints, in this transaction.
-- p_publications: a JSON object a message, the form that it keeps until each subscription has it: message_id; contents by
--   protocol ("*": the other protocols), each {raw, head, tail, opening}: an envelope is head, the subscription's ARN and
--   tail; in a FIFO topic opening and number come before head; facts: what filter policies compare, by filter_scope;
--   attributes as SQS keeps them, and attribute_bytes, their size; request_bytes: the size of all messages and attributes
--   of its request together, which the topic's MaximumMessageSize limits (262,144 by default; source: PublishBatch, API
--   reference); where the message has them: group_id, deduplication_id, subject, trace (the trace header).
-- p_signature_version: the version with which the envelopes were signed; `none`: contents have no envelope, which suffices
--   when all subscriptions are queues with raw delivery.
-- Returns a row a message: n, message_id and sequence_number (FIFO; a duplicate's are the original's), error (NotFound,
--   OtherSignatureVersion, RequestThrottled: the account has too many deliveries, or
--   too many messages for the gateway or the mail server; these for all messages, and nothing is
--   stored; MessageTooLong, DeduplicationIdRequired) and
--   detail: the value that is wanted instead; for a stored message, `none` if no subscription needed an envelope.
-- Locks: FIFO: the topic's, or its groups', until commit: subscribers get messages in the order of their numbers. Then
--   those of send_messages, queue by queue in the order of their ARNs.
-- Called by: Publish, PublishBatch (concurrent requests share one call).
create or replace function queue.publish_messages(p_publications jsonb[], p_topic text, p_signature_version text)
returns table (n int, message_id text, sequence_number bigint, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_topic queue.topic;
    v_most_bytes int;
    v_numbers int[];
    v_publications jsonb[];
    v_accepted jsonb[];    -- those without an error
    v_error text;
    v_all_raw boolean;     -- no subscription needs an envelope
begin
    perform set_config('queue.watcher', '', true);      -- notify every watcher, also this process
    select * into v_topic from queue.topic t where t.arn = p_topic;
    v_all_raw := not exists (
        select from queue.subscription s
        where s.topic_id = v_topic.topic_id and s.confirmed and not (s.raw and s.protocol = 'sqs'));
    v_error := case
        when v_topic.topic_id is null then 'NotFound'
        when exists (select from queue.outgoing_delivery_excess e where e.account_id = v_topic.account_id)
            and exists (
                select from queue.subscription s
                where s.topic_id = v_topic.topic_id and s.confirmed and s.protocol in ('http', 'https'))
            or exists (
                select from queue.outgoing_excess e
                join queue.subscription s on s.topic_id = v_topic.topic_id and s.confirmed and s.protocol = e.protocol
                where e.account_id = v_topic.account_id)
            then 'RequestThrottled'
        when p_signature_version = 'none' and v_all_raw then null
        when v_topic.signature_version <> p_signature_version then 'OtherSignatureVersion' end;
    if v_error is not null then
        return query
        select u.n::int, null::text, null::bigint, v_error, v_topic.signature_version
        from unnest(p_publications) with ordinality u(p, n);
        return;
    end if;
    v_most_bytes := coalesce((v_topic.attributes ->> 'MaximumMessageSize')::int, 262144);
    select array_agg(u.n order by u.n), array_agg(u.p order by u.n) into v_numbers, v_publications
    from unnest(p_publications) with ordinality u(p, n) where (u.p ->> 'request_bytes')::int <= v_most_bytes;
    v_accepted := v_publications;
    if v_topic.fifo and v_numbers is not null then
        v_publications := queue.number_publications(v_topic, v_publications);
        v_accepted := array(
            select u.p from unnest(v_publications) with ordinality u(p, n) where u.p -> 'error' is null order by u.n);
    end if;
    perform queue.fan_out(v_topic, v_accepted, p_signature_version <> 'none');
    return query
    select v_numbers[u.n], u.p ->> 'message_id', (u.p ->> 'sequence_number')::bigint, nullif(u.p ->> 'error', 'Duplicate'),
        case when v_all_raw and p_signature_version <> 'none' then 'none' end
    from unnest(v_publications) with ordinality u(p, n)
    union all
    select u.n::int, null, null, 'MessageTooLong', v_most_bytes::text
    from unnest(p_publications) with ordinality u(p, n) where u.n <> all (coalesce(v_numbers, '{}'));
end $$;
