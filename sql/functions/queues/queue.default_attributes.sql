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
