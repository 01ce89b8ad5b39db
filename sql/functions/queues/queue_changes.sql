-- Attributes and changes of queues.

-- queue.default_attributes: returns the default attributes of a queue. The visibility timeout comes from
-- queue.new_queue_default. A test compares the other values with penstock/sqs/attributes.py.
create or replace function queue.default_attributes(p_fifo boolean) returns jsonb
language sql stable
return jsonb_build_object('DelaySeconds', '0', 'MaximumMessageSize', '1048576', 'MessageRetentionPeriod', '345600',
    'ReceiveMessageWaitTimeSeconds', '0',
    'VisibilityTimeout', (select d.visibility_timeout_seconds::text from queue.new_queue_default d),
    'SqsManagedSseEnabled', 'true')
    || case when p_fifo then jsonb_build_object('FifoQueue', 'true', 'ContentBasedDeduplication', 'false',
        'DeduplicationScope', 'queue', 'FifoThroughputLimit', 'perQueue') else '{}' end;

-- queue.differing_attribute: returns the first given attribute that differs from the stored attribute, or null. The
-- attributes belong to a queue, a topic or a subscription. A missing attribute equals an empty attribute. JSON
-- attributes are equal if they differ only in white space or in the order of names. An empty object equals an empty
-- attribute. CreateQueue, CreateTopic and Subscribe use this function to decide whether the existing object equals the
-- requested object.
create or replace function queue.differing_attribute(p_stored jsonb, p_given jsonb) returns text
language sql immutable as $$
select g.key
from jsonb_each_text(p_given) g, coalesce(p_stored ->> g.key, '') s(value)
where s.value <> g.value
    and (g.key not in ('DeliveryPolicy', 'FilterPolicy', 'Policy', 'RedriveAllowPolicy', 'RedrivePolicy')
        or coalesce(queue.as_json(nullif(s.value, '')), '{}') <> coalesce(queue.as_json(nullif(g.value, '')), '{}'))
order by g.key limit 1
$$;

-- queue.drop_queue: deletes a queue. Receives no longer return the queue's messages. The function maintain_installation
-- later removes the messages' rows. Subscriptions of other accounts cannot deliver to a later queue of this name until
-- its policy allows it. `error` is QueueDoesNotExist or null.
create or replace function queue.drop_queue(p_arn text) returns table (error text)
language plpgsql as $$
declare
    v_queue_id int;
begin
    delete from queue.queues q where q.arn = p_arn returning q.queue_id into v_queue_id;
    if v_queue_id is null then
        return query select 'QueueDoesNotExist'::text;
        return;
    end if;
    update queue.subscription s set target_allowed = false
    where s.protocol = 'sqs' and s.endpoint = p_arn and s.owner <> split_part(p_arn, ':', 5);
    update queue.subscription s set dead_letter_queue_allowed = false
    where s.dead_letter_arn = p_arn and s.owner <> split_part(p_arn, ':', 5);
    insert into queue.dropped_queue (queue_id, arn) values (v_queue_id, p_arn);
    return query select null::text;
end $$;

-- queue.replace_policy: replaces a queue's access policy. Acts only if the policy still is p_old (null means no policy)
-- and the two lists contain exactly the queue's subscriptions. Removes the policy if p_new is null or ''. `p_allowed`
-- and `p_refused` are the subscriptions that the new policy allows and refuses (allow_subscriptions). `error` is
-- QueueDoesNotExist or null.
create or replace function queue.replace_policy(
    p_arn text, p_old text, p_new text, p_allowed uuid[], p_refused uuid[])
returns table (replaced boolean, error text)
language plpgsql as $$
declare
    v_queue queue.queues;
    v_replaced boolean;
begin
    select * into v_queue from queue.queues q where q.arn = p_arn for no key update;
    v_replaced := v_queue.queue_id is not null and v_queue.attributes ->> 'Policy' is not distinct from p_old
        and queue.allow_subscriptions(p_arn, p_allowed, p_refused);
    if v_replaced then
        update queue.queues q
        set attributes = case when coalesce(p_new, '') = '' then q.attributes - 'Policy'
                              else q.attributes || jsonb_build_object('Policy', p_new) end,
            modified_at = clock_timestamp()
        where q.arn = p_arn;
    end if;
    return query select v_replaced, case when v_queue.queue_id is null then 'QueueDoesNotExist' end;
end $$;

-- queue.tag_queue: adds tags or replaces their values. A queue can have at most p_limit tags. `error` is
-- QueueDoesNotExist or TooManyTags, and `detail` is the queue's name.
create or replace function queue.tag_queue(p_arn text, p_tags jsonb, p_limit int)
returns table (error text, detail text)
language plpgsql as $$
declare
    v_name text;
    v_count int;
begin
    select q.name, (select count(*) from jsonb_object_keys(q.tags || p_tags)) into v_name, v_count
    from queue.queues q where q.arn = p_arn for update;
    if v_count <= p_limit then
        update queue.queues q set tags = q.tags || p_tags where q.arn = p_arn;
    end if;
    return query select case when v_name is null then 'QueueDoesNotExist' when v_count > p_limit then 'TooManyTags' end,
        v_name;
end $$;

-- queue.untag_queue: removes tags. Ignores missing keys. `error` is QueueDoesNotExist or null.
create or replace function queue.untag_queue(p_arn text, p_keys text[]) returns table (error text)
language plpgsql as $$
begin
    update queue.queues q set tags = q.tags - p_keys where q.arn = p_arn;
    return query select case when not found then 'QueueDoesNotExist' end;
end $$;
