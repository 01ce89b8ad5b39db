-- queue.finished_delivery: has a row for each delivery that ended.
--   finished_at  when the worker wrote the outcome
--   outcome      delivered, exhausted or dead_lettered
-- A delivery that a user retried after it was given up has a second row.
-- Queries should limit recorded_at, as for queue.finished_message. The metrics job reads this view.
create or replace view queue.finished_delivery as
select h.published_at, h.recorded_at as finished_at, h.attempts, h.outcome, h.recorded_at, h.transaction
from (
    select k.recorded_at, k.transaction, k.outcome, unnest(k.published_at) as published_at,
        unnest(k.attempts) as attempts
    from queue.outgoing_delivery_history k) h;
