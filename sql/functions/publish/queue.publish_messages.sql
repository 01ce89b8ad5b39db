-- queue.publish_messages: publishes messages to a topic: to all of its queues and endpoints, in this transaction.
-- Parameters, one array element a message: id; contents by protocol ("*": the other protocols; "trace": the trace
--   header), each {raw, head, tail, opening}: an envelope is head, the subscription's ARN and tail; in a FIFO topic
--   opening and number come before head; message attributes as SQS keeps them and their size in bytes; the values that
--   filter policies compare, of the attributes and of the body; group, deduplication id, subject; p_bytes: the size of
--   all messages and attributes of its request together, which the topic's MaximumMessageSize limits (262,144 by
--   default; source: PublishBatch, API reference). Then the topic's ARN and the version with which the envelopes were
--   signed; `none`: contents have no envelope, which suffices when all subscriptions are queues with raw delivery.
-- Returns a row a message: n, message_id and sequence_number (FIFO; a duplicate's are the original's), error (NotFound,
--   OtherSignatureVersion, RequestThrottled: the account has too many webhooks, or
--   too many messages for the gateway or the mail server; these for all messages, and nothing is
--   stored; MessageTooLong, DeduplicationIdRequired) and
--   detail: the value that is wanted instead; for a stored message, `none` if no subscription needed an envelope.
-- Locks: FIFO: the topic's, or its groups', until commit: subscribers get messages in the order of their numbers. Then
--   those of send_messages, queue by queue in the order of their ARNs.
-- Called by: Publish, PublishBatch (concurrent requests share one call).
create or replace function queue.publish_messages(
    p_message_ids uuid[], p_contents jsonb[], p_attributes jsonb[], p_attribute_bytes int[], p_attribute_facts jsonb[],
    p_body_facts jsonb[], p_groups text[], p_deduplication_ids text[], p_subjects text[], p_bytes int[],
    p_topic text, p_signature_version text)
returns table (n int, message_id text, sequence_number bigint, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_topic queue.topic;
    v_most_bytes int;
    v_entries queue.publication[];
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
        when exists (select from queue.webhook_excess e where e.account_id = v_topic.account_id)
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
        from unnest(p_message_ids) with ordinality u(id, n);
        return;
    end if;
    v_most_bytes := coalesce((v_topic.attributes ->> 'MaximumMessageSize')::int, 262144);
    v_entries := array(
        select (u.n, u.message_id, null, u.contents, u.attributes, u.attribute_bytes, u.attribute_facts, u.body_facts,
            u.group_id, u.deduplication_id, u.subject, null)::queue.publication
        from unnest(p_message_ids, p_contents, p_attributes, p_attribute_bytes, p_attribute_facts, p_body_facts,
            p_groups, p_deduplication_ids, p_subjects, p_bytes)
            with ordinality u(message_id, contents, attributes, attribute_bytes, attribute_facts, body_facts, group_id,
                deduplication_id, subject, bytes, n)
        where u.bytes <= v_most_bytes
        order by u.n);
    if v_topic.fifo then
        v_entries := queue.number_publications(v_topic, v_entries);
    end if;
    if exists (select from unnest(v_entries) e where e.error is not null) then
        perform queue.fan_out(v_topic, array(select e from unnest(v_entries) e where e.error is null),
            p_signature_version <> 'none');
    else
        perform queue.fan_out(v_topic, v_entries, p_signature_version <> 'none');
    end if;
    return query
    select e.n, e.message_id::text, e.sequence_number, nullif(e.error, 'Duplicate'),
        case when v_all_raw and p_signature_version <> 'none' then 'none' end
    from unnest(v_entries) e
    union all
    select u.n::int, null, null, 'MessageTooLong', v_most_bytes::text
    from unnest(p_bytes) with ordinality u(bytes, n) where u.bytes > v_most_bytes;
end $$;
