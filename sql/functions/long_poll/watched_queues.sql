-- Queues for which long polls wait.

-- queue.ready_queues: returns the queues of a list that have a message to receive now, or that do not exist.
create or replace function queue.ready_queues(p_arns text[]) returns table (arn text)
language sql as $$
select k.arn from queue.poll_queues(p_arns) k where k.arn is not null
$$;

-- queue.watch_queues: registers a process for a notification about queues. The next sender to one of the queues
-- notifies the channel `penstock` with the queue's ARN. A registration is valid for one notification and for p_seconds,
-- at least five. If p_seconds is null, the registration is valid for five seconds. The caller polls the queues once
-- more after the commit, because a message can arrive before the registration.
create or replace function queue.watch_queues(p_arns text[], p_watcher uuid, p_seconds int[] default null)
returns table (arn text)
language sql as $$
insert into queue.watcher (queue_id, watcher, registered_at)
select q.queue_id, p_watcher, clock_timestamp() + greatest(0, coalesce(u.seconds, 5) - 5) * interval '1 second'
from unnest(p_arns, p_seconds) u(arn, seconds) join queue.queues q on q.arn = u.arn
on conflict do nothing
returning (select q.arn from queue.queues q where q.queue_id = watcher.queue_id)
$$;
