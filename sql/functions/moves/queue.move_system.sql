-- queue.move_system(system): the system attributes of a message that a move task takes out of a dead-letter queue:
-- without those about its dead-letter queue and its receives, and with Penstock's attribute about its move
-- (entered_by).
create or replace function queue.move_system(p_system jsonb) returns jsonb
language sql immutable parallel safe
return coalesce(p_system, '{}') - 'DeadLetterQueueSourceArn' - 'ApproximateReceiveCount'
    - 'ApproximateFirstReceiveTimestamp' || '{"EnteredBy": "moved"}';
