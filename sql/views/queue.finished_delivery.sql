-- queue.finished_delivery: has a row for each delivery that ended.
--   `finished_at` is the time at which the worker wrote the outcome.
--   `outcome` is delivered, exhausted or dead_lettered.
-- If a user retried a delivery after the worker gave it up, the delivery has a second row.
-- Queries should limit recorded_at, as for queue.finished_message. The metrics job reads this view.
create or replace view queue.finished_delivery as
select h.published_at, h.recorded_at as finished_at, h.attempts, h.outcome, h.recorded_at, h.transaction
from (
    select k.recorded_at, k.transaction, k.outcome, unnest(k.published_at) as published_at,
        unnest(k.attempts) as attempts
    from queue.outgoing_delivery_history k) h;
