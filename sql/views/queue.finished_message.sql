-- queue.finished_message: the history, a row a message that has ended. Bound recorded_at: partitions and, in them, an
-- index go by it. transaction: the one that recorded the row; below pg_snapshot_xmin every session sees it.
-- With queue.live_message, in one snapshot, each message of a queue that keeps history exactly once.
-- Read by: the metrics job.
create or replace view queue.finished_message as
select h.queue_id, coalesce(h.each_group_id, h.group_id) as group_id, h.sent_at, h.first_received_at, h.finished_at,
    h.receive_count, h.outcome, h.recorded_at, h.transaction
from (
    select k.queue_id, k.group_id, k.first_received_at, k.receive_count, k.outcome, k.recorded_at, k.transaction,
        unnest(k.group_ids) as each_group_id, unnest(k.sent_at) as sent_at, unnest(k.finished_at) as finished_at
    from queue.history k) h;
