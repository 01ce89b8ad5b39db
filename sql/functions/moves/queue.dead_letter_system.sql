-- queue.dead_letter_system(queue, system, receive count, first received at): returns the system attributes of a message
-- that moves to a dead-letter queue.
-- Adds the source queue, the receive count and the time of the first receive, which can be null.
-- ApproximateReceiveCount counts "across all queues" (ReceiveMessage, API reference).
create or replace function queue.dead_letter_system(
    p_queue_id int, p_system jsonb, p_receive_count int, p_first_received_at timestamptz)
returns jsonb
language sql stable as $$
select jsonb_strip_nulls((coalesce(p_system, '{}') - 'EnteredBy') || jsonb_build_object(
    'DeadLetterQueueSourceArn', (select q.arn from queue.queues q where q.queue_id = p_queue_id),
    'ApproximateReceiveCount', (coalesce((p_system ->> 'ApproximateReceiveCount')::int, 0) + p_receive_count)::text,
    'ApproximateFirstReceiveTimestamp', coalesce(p_system ->> 'ApproximateFirstReceiveTimestamp',
        queue.epoch_ms(p_first_received_at)::text)))
$$;
