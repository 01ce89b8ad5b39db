-- queue.publish_messages: publishes messages to a topic: to all of its queues and endpoints, in this transaction.
-- p_publications: a JSON object for each message, in the form that it keeps until each subscription has it: message_id;
-- contents by protocol ("*": the other protocols), each {raw, head, tail, opening}: an envelope consists of head, the
-- subscription's ARN and tail; in a FIFO topic, opening and number come before head; facts: the values that filter
-- policies compare, by filter_scope; attributes in the format of SQS, and attribute_bytes, their size; request_bytes:
-- the size of all messages and attributes of its request together, which the topic's MaximumMessageSize limits (262,144
-- by default; source: PublishBatch, API reference); if the message has them: group_id, deduplication_id, subject, trace
-- (the trace header).
-- p_signature_version: the version with which the envelopes were signed. `none`: contents have no envelope, which
-- suffices if all subscriptions are queues with raw delivery.
-- Returns a row for each message: n, message_id and sequence_number (FIFO; a duplicate has those of the original),
-- error (NotFound; OtherSignatureVersion; RequestThrottled: the account has too many deliveries, or too many messages
-- for the gateway or the mail server; these for all messages, and nothing is stored; MessageTooLong;
-- DeduplicationIdRequired) and detail: the value that is needed instead; for a stored message, `none` if no
-- subscription needed an envelope. Locks: for FIFO, the topic or its groups until commit, so that subscribers get
-- messages in the order of their numbers. Then the locks of send_messages, queue by queue in the order of their ARNs.
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
    v_all_raw boolean;     -- whether no subscription needs an envelope
begin
    perform set_config('queue.watcher', '', true);      -- notifies every watcher, even this process
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
    perform queue.fan_out(v_topic, v_accepted, p_signature_version <> 'none');
    return query
    select v_numbers[u.n], u.p ->> 'message_id', (u.p ->> 'sequence_number')::bigint, nullif(u.p ->> 'error', 'Duplicate'),
        case when v_all_raw and p_signature_version <> 'none' then 'none' end
    from unnest(v_publications) with ordinality u(p, n)
    union all
    select u.n::int, null, null, 'MessageTooLong', v_most_bytes::text
    from unnest(p_publications) with ordinality u(p, n) where (u.p ->> 'request_bytes')::int > v_most_bytes;
end $$;

-- queue.number_publications(topic, publications): gives the messages for a FIFO topic their numbers (sequence_number)
-- and the deduplication ids that they lack. The function marks messages that were already published in the last five
-- minutes (error Duplicate, with the original's message_id and number), and messages without a deduplication id
-- (DeduplicationIdRequired). Returns the publications in the same order. Locks: advisory, the topic or the message
-- groups, in the order of their keys. Index: topic_deduplication_pkey.
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
    select distinct on (e.scope, e.deduplication_id) p_topic.topic_id, e.scope, e.deduplication_id, e.message_id, e.number,
        v_now + interval '5 minutes'
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
    return array(       -- a separate look-up for each id: with an array the planner may read all ids of the topic
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
