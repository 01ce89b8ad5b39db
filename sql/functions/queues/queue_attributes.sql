-- Attributes of queues.

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
