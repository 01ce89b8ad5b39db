-- queue.default_attributes(fifo): returns the default attributes of a queue.
-- penstock/sqs/attributes.py has the same values; a test compares the two.
create or replace function queue.default_attributes(p_fifo boolean) returns jsonb
language sql immutable
return jsonb_build_object('DelaySeconds', '0', 'MaximumMessageSize', '1048576', 'MessageRetentionPeriod', '345600',
    'ReceiveMessageWaitTimeSeconds', '0', 'VisibilityTimeout', '30', 'SqsManagedSseEnabled', 'true')
    || case when p_fifo then jsonb_build_object('FifoQueue', 'true', 'ContentBasedDeduplication', 'false',
        'DeduplicationScope', 'queue', 'FifoThroughputLimit', 'perQueue') else '{}' end;
