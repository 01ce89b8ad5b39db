-- queue.publish_messages: publishes messages to all queues and endpoints of a topic in this transaction.
-- `p_publications` has a JSON object for each message, with these members:
--   `message_id` is the id of the message.
--   `contents` maps each protocol, or "*" for other protocols, to {raw, head, tail, opening}. An envelope consists of
--     `head`, the subscription's ARN and `tail`. In a FIFO topic, `opening` and the message's number come before
--     `head`.
--   `facts` contains the values that filter policies compare, by filter_scope.
--   `attributes` has SQS's format, and `attribute_bytes` is the size of the attributes.
--   `request_bytes` is the size of all messages and attributes of the request. The topic's MaximumMessageSize limits
--     this size (262,144 by default; PublishBatch, API reference).
--   `group_id`, `deduplication_id`, `subject` and `trace` are present if the message has them. `trace` is the trace
--     header.
-- `p_signature_version` is the signature version of the envelopes. The value `none` means that the contents have no
-- envelope, which suffices if all subscriptions are queues with raw delivery. Returns a row for each message:
--   `message_id` and `sequence_number` are the original's values if the message is a duplicate in a FIFO topic.
--   `error` is NotFound, OtherSignatureVersion, RequestThrottled, MessageTooLong or DeduplicationIdRequired. The first
--     three errors apply to all messages, and the function then stores nothing. RequestThrottled means that the account
--     has too many deliveries, or too many messages for the gateway or the mail server.
--   `detail` is the signature version that the topic needs. For a stored message, `detail` is `none` if no subscription
--     needs an envelope.
-- For a FIFO topic, locks the topic or its groups until commit, so that subscribers receive messages in order. Then
-- takes the locks of send_messages, queue by queue in the order of their ARNs.
-- This file also contains number_publications.
create or replace function queue.publish_messages(p_publications jsonb[], p_topic text, p_signature_version text)
returns table (n int, message_id text, sequence_number bigint, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_topic queue.topic;
    v_most_bytes int;
    v_numbers int[];
    v_publications jsonb[];
    v_accepted jsonb[];    -- The array contains the publications without an error.
    v_error text;
    v_all_raw boolean;     -- The value says whether all subscriptions work without an envelope.
begin
    -- The setting makes notify_watchers notify every process, even this process.
    perform set_config('queue.watcher', '', true);
    select * into v_topic from queue.topic t where t.arn = p_topic;
    v_all_raw := not exists (
        select from queue.subscription s
        where s.topic_id = v_topic.topic_id and s.confirmed and not (s.raw and s.protocol = 'sqs'));
    v_error := case
        when v_topic.topic_id is null then 'NotFound'
        when exists (
                select from queue.delivery_excess e
                join queue.subscription s on s.topic_id = v_topic.topic_id and s.confirmed
                    and case when s.protocol in ('http', 'https') then '' else s.protocol end = e.protocol
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
    select array_agg(k.n), array_agg(k.p) into v_numbers, v_publications
    from (
        select u.n, u.p from unnest(p_publications) with ordinality u(p, n)
        where (u.p ->> 'request_bytes')::int <= v_most_bytes order by u.n) k;
    v_accepted := v_publications;
    if v_topic.fifo and v_numbers is not null then
        v_publications := queue.number_publications(v_topic, v_publications);
        v_accepted := array(
            select u.p from unnest(v_publications) with ordinality u(p, n) where u.p -> 'error' is null order by u.n);
    end if;
    if v_topic.archive_id is not null then
        perform queue.archive_publications(v_topic, v_accepted);
    end if;
    if v_topic.attributes ? 'PenstockBus' then
        perform queue.keep_publications(v_topic, v_accepted);
    end if;
    perform queue.fan_out(v_topic, v_accepted, p_signature_version <> 'none');
    return query
    select v_numbers[u.n], u.p ->> 'message_id', (u.p ->> 'sequence_number')::bigint,
        nullif(u.p ->> 'error', 'Duplicate'),
        case when v_all_raw and p_signature_version <> 'none' then 'none' end
    from unnest(v_publications) with ordinality u(p, n)
    union all
    select u.n::int, null, null, 'MessageTooLong', v_most_bytes::text
    from unnest(p_publications) with ordinality u(p, n) where (u.p ->> 'request_bytes')::int > v_most_bytes;
end $$;

-- queue.number_publications: adds numbers and missing deduplication ids to messages of a FIFO topic. Returns the
-- publications in the same order.
--   `Duplicate` marks a message that was published in the last five minutes. The message has the original's id and
--     number.
--   `DeduplicationIdRequired` marks a message without a deduplication id.
-- Takes advisory locks on the topic or the message groups, in the order of their keys.
create or replace function queue.number_publications(p_topic queue.topic, p_publications jsonb[]) returns jsonb[]
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_message_ids uuid[];
    v_scopes text[];
    v_deduplication_ids text[];
    v_numbers bigint[];
    v_claimed int;
begin
    select array_agg(k.message_id), array_agg(k.scope), array_agg(k.deduplication_id)
    into v_message_ids, v_scopes, v_deduplication_ids
    from (
        select (u.p ->> 'message_id')::uuid as message_id,
            case when p_topic.deduplicates_groups then u.p ->> 'group_id' else '' end as scope,
            coalesce(u.p ->> 'deduplication_id', case when p_topic.content_based_deduplication
                then encode(sha256(convert_to(u.p #>> '{contents,*,raw}', 'UTF8')), 'hex') end) as deduplication_id
        from unnest(p_publications) with ordinality u(p, n) order by u.n) k;
    perform pg_advisory_xact_lock(queue.lock_key(4, p_topic.topic_id, k.part))
    from (select distinct case when p_topic.deduplicates_groups then hashtext(s) & 63 else 0 end as part
          from unnest(v_scopes) s order by 1) k;
    v_now := clock_timestamp();
    v_numbers := array(select nextval('queue.topic_sequence') from unnest(v_scopes));
    insert into queue.topic_deduplication as d (topic_id, scope, deduplication_id, message_id, sequence_number,
        expires_at)
    select distinct on (e.scope, e.deduplication_id) p_topic.topic_id, e.scope, e.deduplication_id, e.message_id,
        e.number, v_now + interval '5 minutes'
    from unnest(v_scopes, v_deduplication_ids, v_message_ids, v_numbers) e(scope, deduplication_id, message_id, number)
    where e.deduplication_id is not null order by e.scope, e.deduplication_id, e.number
    on conflict (topic_id, scope, deduplication_id) do update
        set message_id = excluded.message_id, sequence_number = excluded.sequence_number,
            expires_at = excluded.expires_at
        where d.expires_at <= v_now;
    get diagnostics v_claimed = row_count;
    if v_claimed = cardinality(v_numbers) then
        return array(
            select p_publications[e.n] || jsonb_build_object('sequence_number', e.number, 'deduplication_id', e.id)
            from unnest(v_numbers, v_deduplication_ids) with ordinality e(number, id, n)
            order by e.n);
    end if;
    -- Each id needs a separate look-up, because for `= any (…)` the planner can choose a scan of all ids of the topic.
    return array(
        select p_publications[e.n] || jsonb_strip_nulls(jsonb_build_object(
            'message_id', coalesce(d.message_id, e.message_id), 'sequence_number', d.sequence_number,
            'deduplication_id', e.deduplication_id,
            'error', case when e.deduplication_id is null then 'DeduplicationIdRequired'
                 when d.message_id <> e.message_id then 'Duplicate' end))
        from unnest(v_scopes, v_deduplication_ids, v_message_ids)
            with ordinality e(scope, deduplication_id, message_id, n)
        left join lateral (
            select f.message_id, f.sequence_number from queue.topic_deduplication f
            where f.topic_id = p_topic.topic_id and f.deduplication_id = e.deduplication_id and f.scope = e.scope
            limit 1) d on true
        order by e.n);
end $$;
