-- queue.move_system: returns the system attributes of a message that a move task takes out of a dead-letter queue.
-- Removes the attributes about the dead-letter queue and the receives, and adds EnteredBy (entered_by).
create or replace function queue.move_system(p_system jsonb) returns jsonb
language sql immutable parallel safe
return coalesce(p_system, '{}') - 'DeadLetterQueueSourceArn' - 'ApproximateReceiveCount'
    - 'ApproximateFirstReceiveTimestamp' || '{"EnteredBy": "moved"}';
