-- queue.dead_letter_system(queue, system): system attributes of a message that leaves a queue for its dead-letter queue.
create or replace function queue.dead_letter_system(p_queue_id int, p_system jsonb) returns jsonb
language sql stable
return coalesce(p_system, '{}') || jsonb_build_object('DeadLetterQueueSourceArn',
    (select q.arn from queue.queues q where q.queue_id = p_queue_id));
