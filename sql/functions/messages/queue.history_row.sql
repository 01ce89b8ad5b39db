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
