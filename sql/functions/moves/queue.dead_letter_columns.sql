-- queue.dead_letter_columns: returns the columns that a message gets in its dead-letter queue, whichever table it comes
-- from. The caller adds the columns that only its table has. `p_receive_count` and `p_first_received_at` are the
-- message's values in the source queue. PostgreSQL inlines this function.
-- This file also contains dead_letter_system and failure_columns.
create or replace function queue.dead_letter_columns(
    p_queue_id int, p_target_id int, p_moved_at timestamptz, p_public_id bigint, p_message_id uuid,
    p_sent_at timestamptz, p_system jsonb, p_attributes jsonb, p_receive_count int, p_first_received_at timestamptz)
returns jsonb
language sql stable as $$
select jsonb_build_object('queue_id', p_target_id, 'visible_at', p_moved_at, 'receive_count', 0,
    'first_received_at', null, 'redelivered_at', null,
    'system', queue.dead_letter_system(p_queue_id, p_system, p_receive_count, p_first_received_at)
        || queue.add_move('dead_lettered', p_moved_at, (select q.arn from queue.queues q where q.queue_id = p_queue_id),
            p_public_id, p_message_id::text, p_sent_at, p_receive_count, p_first_received_at, p_system))
    || queue.failure_columns(p_queue_id, p_message_id, p_attributes)
$$;

-- queue.dead_letter_system: returns the system attributes of a message that moves to a dead-letter queue. Adds the
-- source queue, the receive count and the time of the first receive, which can be null. ApproximateReceiveCount counts
-- "across all queues" (ReceiveMessage, API reference).
create or replace function queue.dead_letter_system(
    p_queue_id int, p_system jsonb, p_receive_count int, p_first_received_at timestamptz)
returns jsonb
language sql stable as $$
select jsonb_strip_nulls(coalesce(p_system, '{}') || jsonb_build_object(
    'DeadLetterQueueSourceArn', (select q.arn from queue.queues q where q.queue_id = p_queue_id),
    'ApproximateReceiveCount', (coalesce((p_system ->> 'ApproximateReceiveCount')::int, 0) + p_receive_count)::text,
    'ApproximateFirstReceiveTimestamp', coalesce(p_system ->> 'ApproximateFirstReceiveTimestamp',
        queue.epoch_ms(p_first_received_at)::text)))
$$;

-- queue.failure_columns: returns the columns of a dead letter that its last failure changes, or an empty object if the
-- message has no failure. The columns are `attributes`, with the attribute PenstockError, and `response_bytes`, because
-- the size is different. Uses the index failure_pkey.
create or replace function queue.failure_columns(p_queue_id int, p_message_id uuid, p_attributes jsonb) returns jsonb
language sql stable as $$
select coalesce((
    select jsonb_build_object('attributes', queue.with_error(p_attributes, f.error), 'response_bytes', null)
    from queue.failure f where f.queue_id = p_queue_id and f.message_id = p_message_id
    order by f.receive_count desc limit 1), '{}')
$$;
