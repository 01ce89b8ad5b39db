-- queue.finished_delivery: deliveries that ended, one row for each; outcome: delivered, exhausted, dead_lettered.
-- finished_at: when the worker wrote the outcome. Queries should limit recorded_at, as for queue.finished_message. A
-- delivery that was given up and then retried by a user appears a second time. The metrics job reads this view.
create or replace view queue.finished_delivery as
select h.published_at, h.recorded_at as finished_at, h.attempts, h.outcome, h.recorded_at, h.transaction
from (
    select k.recorded_at, k.transaction, k.outcome, unnest(k.published_at) as published_at,
        unnest(k.attempts) as attempts
    from queue.outgoing_delivery_history k) h;
