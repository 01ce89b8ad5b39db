-- queue.finished_message: has a row for each message of the history.
--   `entered_at` and `entered_by` say when and how the message entered this queue: sent, dead_lettered or moved.
--   `redelivered_at` contains the times of the first 100 receives after the first receive, or null without such a
--     receive.
--   `transaction` is the transaction that recorded the row. If the transaction is below pg_snapshot_xmin, every session
--     sees the row.
-- In one snapshot, this view and queue.live_message together contain each message of a queue exactly once, if the queue
-- keeps a history. Queries should limit recorded_at, by which the table is partitioned and indexed. The metrics job
-- reads this view.
create or replace view queue.finished_message as
select h.queue_id, coalesce(h.each_group_id, h.group_id) as group_id, h.sent_at, h.first_received_at, h.finished_at,
    h.receive_count, h.outcome, h.recorded_at, h.transaction, coalesce(h.entered_at, h.sent_at) as entered_at,
    coalesce(h.entered_by, 'sent') as entered_by, h.redelivered_at
from (
    select k.queue_id, k.group_id, k.first_received_at, k.receive_count, k.outcome, k.recorded_at, k.transaction,
        k.entered_by, k.redelivered_at, unnest(k.group_ids) as each_group_id, unnest(k.sent_at) as sent_at,
        unnest(k.entered_at) as entered_at, unnest(k.finished_at) as finished_at
    from queue.history k) h;
