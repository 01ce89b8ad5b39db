-- How a message ended, and its row in the history.

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

-- queue.history_row: returns the row of queue.history for one ended message.
--   `p_system` contains the system attributes, which contain the group.
--   `p_entered_at` is null if the message entered the queue when it was sent.
-- A message that was deleted or purged after its retention has expired (ending). Functions that end many messages do
-- not call this function, but insert one row for messages that were received together. PostgreSQL inlines this function
-- if no argument is volatile.
create or replace function queue.history_row(
    p_queue_id int, p_outcome text, p_system jsonb, p_receive_count int, p_first_received_at timestamptz,
    p_redelivered_at timestamptz[], p_sent_at timestamptz, p_entered_at timestamptz, p_finished_at timestamptz)
returns setof queue.history
language sql stable as $$
select clock_timestamp(), p_first_received_at, pg_current_xact_id(), p_queue_id, p_receive_count,
    (nextval('queue.history_id') & 2147483647)::int,
    case when p_outcome in ('dead_lettered', 'moved') then p_outcome else e.outcome end,
    p_system ->> 'MessageGroupId', array[p_sent_at],
    array[case when p_outcome in ('dead_lettered', 'moved') then p_finished_at else e.finished_at end],
    null::text[], case when p_entered_at is not null then array[p_entered_at] end,
    queue.entered_by(p_system), p_redelivered_at
from queue.ending(p_queue_id, p_outcome, p_sent_at, p_entered_at, p_first_received_at, p_finished_at) e
$$;
