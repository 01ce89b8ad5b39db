-- The definition of a queue: creation, attributes and look-up.

-- queue.create_queue: creates a queue. Returns the queue's ARN. If the queue exists with the supplied attributes'
-- values, only returns the queue's ARN.
--   `p_supplied` contains the attributes from the request.
--   `p_defaults` contains the values of the other attributes.
--   `p_shards` is the number of concurrent writers.
--   `p_recreate_seconds` is how long the name of a deleted queue is refused. A value of 0 means that the name is never
--     refused.
--   `error` is QueueNameExists or QueueDeletedRecently. For QueueNameExists, `detail` is the attribute that differs.
create or replace function queue.create_queue(
    p_account_id text, p_region text, p_name text, p_supplied jsonb, p_defaults jsonb, p_tags jsonb, p_shards int,
    p_recreate_seconds int)
returns table (arn text, created boolean, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_arn text := format('arn:aws:sqs:%s:%s:%s', p_region, p_account_id, p_name);
    v_queue queue.queues;
begin
    if p_recreate_seconds > 0 and exists (
        select from queue.dropped_queue d
        where d.arn = v_arn
            and d.dropped_at between clock_timestamp() - p_recreate_seconds * interval '1 second' and clock_timestamp())
    then
        return query select v_arn, false, 'QueueDeletedRecently'::text, p_recreate_seconds::text;
        return;
    end if;
    insert into queue.queues (account_id, region, name, shards, attributes, tags)
    values (p_account_id, p_region, p_name, p_shards, p_defaults || p_supplied, coalesce(p_tags, '{}'))
    on conflict do nothing
    returning * into v_queue;
    if found then
        insert into queue.lease (pos, first_id, visible_at, watermark, low, queue_id, receive_count, shard, ids)
        select 0, 1, '-infinity', '-infinity', 0, v_queue.queue_id, 0, s, '{}'
        from generate_series(0, p_shards - 1) s
        where not v_queue.fifo;
        insert into queue.noisy_neighbors (queue_id) select v_queue.queue_id where not v_queue.fifo;
        return query select v_arn, true, null::text, null::text;
        return;
    end if;
    select * into v_queue from queue.queues q where q.arn = v_arn;
    return query
    select v_arn, false, case when d.attribute is not null then 'QueueNameExists' end, d.attribute
    from queue.differing_attribute(v_queue.attributes, p_supplied) d(attribute);
end $$;

-- queue.attribute_problem: returns why a queue cannot be created with these attributes, or null. The attributes are
-- those of CreateQueue, and Penstock's. The caller is queue.create, because penstock/sqs/attributes.py checks the
-- requests of AWS and REST. Does not check policies, except the count of the redrive policy.
create or replace function queue.attribute_problem(p_attributes jsonb, p_fifo boolean) returns text
language plpgsql stable as $$
declare
    v_given record;
    v_policy jsonb;
begin
    if jsonb_typeof(p_attributes) is distinct from 'object' then
        return 'attributes is not a JSON object';
    end if;
    for v_given in
        select a.key, a.value #>> '{}' as value, jsonb_typeof(a.value) = 'string' as is_text, r.*
        from jsonb_each(p_attributes) a left join queue.attribute_rules() r on r.name = a.key
        order by a.key
    loop
        if v_given.name is null then
            return format('there is no queue attribute "%s"', v_given.key);
        elsif v_given.only_fifo and not p_fifo then
            return format('%s is an attribute of FIFO queues only', v_given.key);
        elsif not v_given.is_text then
            return format('%s is not a text', v_given.key);
        elsif v_given.value <> all (v_given.choices) then
            return format('%s is "%s" and not %s', v_given.key, v_given.value,
                array_to_string(v_given.choices, ' or '));
        elsif v_given.high is not null and not queue.is_between(v_given.value, v_given.low, v_given.high) then
            return format('%s is "%s" and not %s to %s', v_given.key, v_given.value, v_given.low, v_given.high);
        elsif v_given.key = 'RedrivePolicy' then
            v_policy := queue.as_json(v_given.value);
            if jsonb_typeof(v_policy) <> 'object' or v_policy ->> 'deadLetterTargetArn' is null
                or not queue.is_between(v_policy ->> 'maxReceiveCount', 1, 1000)
            then
                return 'RedrivePolicy is not a JSON object with deadLetterTargetArn and maxReceiveCount, 1 to 1000';
            end if;
        end if;
    end loop;
    if p_attributes ->> 'FifoThroughputLimit' = 'perMessageGroupId'
        and p_attributes ->> 'DeduplicationScope' is distinct from 'messageGroup'
    then
        return 'FifoThroughputLimit is perMessageGroupId, which requires the DeduplicationScope messageGroup';
    end if;
    return null;
end $$;

-- queue.attribute_rules: returns the attributes that a queue can have, and their values: a number from `low` to `high`
-- (in seconds or bytes), one of the `choices`, or any text. A test compares them with penstock/sqs/attributes.py.
create or replace function queue.attribute_rules()
returns table (name text, only_fifo boolean, low int, high int, choices text[])
language sql immutable as $$
values
    ('DelaySeconds', false, 0, 900, null::text[]),
    ('MaximumMessageSize', false, 1024, 1048576, null),
    ('MessageRetentionPeriod', false, 60, 1209600, null),
    ('ReceiveMessageWaitTimeSeconds', false, 0, 20, null),
    ('VisibilityTimeout', false, 0, 43200, null),
    ('Policy', false, null, null, null),
    ('RedrivePolicy', false, null, null, null),
    ('RedriveAllowPolicy', false, null, null, null),
    ('KmsMasterKeyId', false, null, null, null),
    ('KmsDataKeyReusePeriodSeconds', false, 60, 86400, null),
    ('SqsManagedSseEnabled', false, null, null, '{true,false}'),
    ('FifoQueue', true, null, null, '{true}'),
    ('ContentBasedDeduplication', true, null, null, '{true,false}'),
    ('DeduplicationScope', true, null, null, '{messageGroup,queue}'),
    ('FifoThroughputLimit', true, null, null, '{perQueue,perMessageGroupId}'),
    ('PenstockTrace', false, null, null, '{true,false}'),
    ('archive', false, null, null, '{true,false}'),
    ('archive_seconds', false, 1, 315360000, null),
    ('history', false, null, null, '{true,false}'),
    ('paused', false, null, null, '{true,false}')
$$;

-- queue.is_between: returns whether a text is a number from p_low to p_high. A null text does not count as a number.
create or replace function queue.is_between(p_text text, p_low int, p_high int) returns boolean
language sql immutable parallel safe
return case when p_text ~ '^[0-9]{1,10}$' then p_text::bigint between p_low and p_high else false end;

-- queue.set_queue_attributes: replaces the given attributes. A null value removes an attribute. A change of a FIFO
-- queue's delay also applies to messages in the queue (delay_groups). If a queue starts to record a history again,
-- stores the time. `p_allowed` and `p_refused` are the subscriptions that a changed policy allows and refuses
-- (allow_subscriptions). The errors are:
--   `QueueDoesNotExist` means that the queue does not exist.
--   `SubscriptionsChanged` means that the lists are incomplete.
--   `ScopeNeeded` means that high throughput needs the DeduplicationScope messageGroup. The function then changes
--     nothing.
-- Locks the queue's row, then rows of FIFO groups, as purge_messages does.
create or replace function queue.set_queue_attributes(
    p_arn text, p_attributes jsonb, p_allowed uuid[], p_refused uuid[])
returns table (error text)
language plpgsql as $$
declare
    v_old queue.queues;
    v_new queue.queues;
    v_attributes jsonb;
begin
    select * into v_old from queue.queues q where q.arn = p_arn for no key update;
    v_attributes := jsonb_strip_nulls(v_old.attributes || p_attributes);
    if v_attributes ->> 'FifoThroughputLimit' = 'perMessageGroupId'
        and v_attributes ->> 'DeduplicationScope' is distinct from 'messageGroup'
    then
        return query select 'ScopeNeeded'::text;
        return;
    end if;
    if not queue.allow_subscriptions(p_arn, p_allowed, p_refused) then
        return query select 'SubscriptionsChanged'::text;
        return;
    end if;
    update queue.queues q set attributes = v_attributes, modified_at = clock_timestamp(),
        history_since = case when not q.keeps_history and coalesce((v_attributes ->> 'history')::boolean, true)
            then clock_timestamp() else q.history_since end
    where q.arn = p_arn returning * into v_new;
    if v_new.fifo and v_new.delay_seconds <> v_old.delay_seconds then
        perform queue.delay_groups(v_new.queue_id, v_new.delay_seconds);
        perform queue.notify_watchers(v_new.queue_id, p_arn);
    end if;
    if v_old.paused and not v_new.paused then
        perform queue.notify_watchers(v_new.queue_id, p_arn);
    end if;
    return query select case when v_new.queue_id is null then 'QueueDoesNotExist' end;
end $$;

-- queue.delay_groups: applies a changed DelaySeconds of a FIFO queue to its unreceived messages. On FIFO queues the
-- setting is retroactive (Developer Guide, "Delay queues"). Waits for locks on the rows of the changed groups, in the
-- order of their keys. Uses the indexes fifo_group_queue_id_group_id_key and fifo_message_of_group.
create or replace function queue.delay_groups(p_queue_id int, p_delay_seconds int) returns void
language plpgsql as $$
declare
    v_group bigint;
    v_delay interval := p_delay_seconds * interval '1 second';
    v_now timestamptz := clock_timestamp();
begin
    for v_group in
        select g.group_key from queue.fifo_group g
        where g.queue_id = p_queue_id and exists (
            select from queue.fifo_message m
            where m.group_key = g.group_key and m.group_key > 0 and m.receive_count = 0
                and (m.visible_at > v_now or m.sent_at + v_delay > v_now))
        order by g.group_key
    loop
        perform from queue.fifo_group g where g.group_key = v_group for update;
        update queue.fifo_message m set visible_at = m.sent_at + v_delay
        where m.group_key = v_group and m.group_key > 0 and m.receive_count = 0
            and (m.visible_at > v_now or m.sent_at + v_delay > v_now);
        perform queue.update_groups(array[v_group]);
    end loop;
end $$;

-- queue.describe_queue: returns a queue's attributes, tags and times and, with p_with_counts, its counts. Returns no
-- row for an unknown queue.
create or replace function queue.describe_queue(p_arn text, p_with_counts boolean)
returns table (name text, fifo boolean, attributes text, tags text, created_at_ms bigint, modified_at_ms bigint,
    visible bigint, in_flight bigint, delayed bigint, oldest_age_seconds bigint, newest_age_seconds bigint,
    total_messages bigint)
language plpgsql stable as $$
#variable_conflict use_column
declare
    v_queue queue.queues;
    v_counts record;
begin
    select * into v_queue from queue.queues q where q.arn = p_arn;
    if v_queue.queue_id is null then
        return;
    end if;
    select null::bigint as visible, null::bigint as in_flight, null::bigint as delayed, null::bigint as total,
        null::timestamptz as oldest, null::timestamptz as newest into v_counts;
    if p_with_counts then
        select * into v_counts from queue.count_messages(v_queue.queue_id, v_queue.fifo, v_queue.shards);
    end if;
    return query
    select v_queue.name, v_queue.fifo, v_queue.attributes::text, v_queue.tags::text,
        queue.epoch_ms(v_queue.created_at), queue.epoch_ms(v_queue.modified_at), v_counts.visible, v_counts.in_flight,
        v_counts.delayed, date_part('epoch', clock_timestamp() - v_counts.oldest)::bigint,
        date_part('epoch', clock_timestamp() - v_counts.newest)::bigint, v_counts.total;
end $$;

-- queue.list_queue_page: returns names of an account's queues in a region, in order. `p_after` restricts the result to
-- later names. Null means all names.
create or replace function queue.list_queue_page(
    p_account_id text, p_region text, p_prefix text, p_after text, p_limit int)
returns table (name text, fifo boolean, created_at_ms bigint)
language sql stable as $$
select q.name, q.fifo, queue.epoch_ms(q.created_at)
from queue.queues q
where q.account_id = p_account_id and q.region = p_region and q.name > coalesce(p_after, '')
    and starts_with(q.name, coalesce(p_prefix, ''))
order by q.name
limit p_limit
$$;

-- queue.resolve: returns a queue's ARN for an ARN or a name from an application. A name means a queue in the account
-- and region of the application's role. For most roles, computes the result of caller_account itself, which saves a
-- query in nearly every call. Raises QU001 (undefined queue), even for an existing queue in an account that the caller
-- cannot use. Raises the errors of caller_account.
create or replace function queue.resolve(p_name text) returns text
language plpgsql stable as $$
declare
    v_account_id text;
    v_region text;
    v_arn text;
begin
    select r.account_id, r.region into v_account_id, v_region
    from queue.role_account r where r.role_name = session_user;
    if v_account_id is null and queue.is_service_role() then
        v_arn := case when p_name like 'arn:%' then p_name else 'arn:aws:sqs:us-east-1:000000000000:' || p_name end;
        if exists (select from queue.queues q where q.arn = v_arn) then
            return v_arn;
        end if;
    else
        if v_account_id is null then
            select c.account_id, c.region into v_account_id, v_region from queue.caller_account() c;
        end if;
        v_arn := case when p_name like 'arn:%' then p_name
                      else 'arn:aws:sqs:' || v_region || ':' || v_account_id || ':' || p_name end;
        if exists (select from queue.queues q where q.arn = v_arn and q.account_id = v_account_id) then
            return v_arn;
        end if;
    end if;
    raise exception 'queue "%" does not exist', p_name using errcode = 'QU001';
end $$;
