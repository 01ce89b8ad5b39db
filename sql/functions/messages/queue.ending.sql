-- queue.ending: returns how and when a message ended. `p_outcome` is deleted, purged or expired, at p_finished_at. If
-- the retention period ended before p_finished_at, the message expired at the end of the period, even if a consumer
-- deleted the message later. A message does not expire before it entered the queue or was first received. This rule
-- matters because an administrator can shorten the retention period, and because a dead-letter queue can have a shorter
-- period. The view queue.live_message has the same expressions. PostgreSQL inlines this function if no argument is
-- volatile.
create or replace function queue.ending(
    p_queue_id int, p_outcome text, p_sent_at timestamptz, p_entered_at timestamptz, p_first_received_at timestamptz,
    p_finished_at timestamptz)
returns table (outcome text, finished_at timestamptz)
language sql stable as $$
select case when p_finished_at > e.at then 'expired' else p_outcome end,
    case when p_finished_at > e.at then least(p_finished_at, greatest(e.at, p_entered_at, p_first_received_at))
        else p_finished_at end
from (
    select p_sent_at + (
        select q.retention_seconds * interval '1 second' from queue.queues q where q.queue_id = p_queue_id) as at) e
$$;
