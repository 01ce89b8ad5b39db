-- queue.move_system(system): system attributes of a message that leaves a dead-letter queue for good: it starts anew.
-- Called by: move_side, move_log, move_groups.
create or replace function queue.move_system(p_system jsonb) returns jsonb
language sql immutable parallel safe
return nullif(p_system - 'DeadLetterQueueSourceArn' - 'ApproximateReceiveCount' - 'ApproximateFirstReceiveTimestamp', '{}');
