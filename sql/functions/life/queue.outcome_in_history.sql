-- queue.outcome_in_history: returns how a message ended in a queue.
-- The history has no message ids, so the time of sending identifies the message. Several messages can have one time.
--   `p_sent_at_ms` is in milliseconds since 1970, or null for any time.
--   `p_outcome` and `p_finished_at` are the expected outcome and time, or null for any.
--   `p_since` is a time before the end of the message.
--   `messages` is the number of messages that match. The other columns are null unless it is 1.
-- Reads the queue's history of one hour from p_since on, and at most its first 20,000 rows. Uses the primary key.
create or replace function queue.outcome_in_history(
    p_queue_id int, p_sent_at_ms bigint, p_outcome text, p_finished_at timestamptz, p_since timestamptz)
returns table (messages bigint, outcome text, sent_at timestamptz, finished_at timestamptz, receive_count int,
    first_received_at timestamptz, redelivered_at timestamptz[])
language sql stable as $$
with found as materialized (
    select h.outcome, u.sent_at, u.finished_at, h.receive_count, h.first_received_at, h.redelivered_at
    from (
        select r.* from queue.history r
        where r.recorded_at >= p_since and r.recorded_at < p_since + interval '1 hour' and r.queue_id = p_queue_id
        order by r.recorded_at limit 20000) h
    cross join lateral unnest(h.sent_at, h.finished_at) u(sent_at, finished_at)
    where h.outcome = coalesce(p_outcome, h.outcome)
        and u.finished_at = coalesce(p_finished_at, u.finished_at)
        and queue.epoch_ms(u.sent_at) = coalesce(p_sent_at_ms, queue.epoch_ms(u.sent_at)))
select c.messages, f.outcome, f.sent_at, f.finished_at, f.receive_count, f.first_received_at, f.redelivered_at
from (select count(*) as messages from found) c left join found f on c.messages = 1
$$;
