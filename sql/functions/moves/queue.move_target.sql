-- queue.move_target: returns the ARN of a message's target queue, or why the message cannot move. The target is the
-- task's destination. If the task has no destination, the target is the queue that the message came from, unless that
-- queue is the dead-letter queue itself. `failure` is AWS's text for FailureReason.
create or replace function queue.move_target(p_queue_id int, p_destination text, p_system jsonb)
returns table (target_arn text, failure text)
language sql stable as $$
select q.arn, case when a.arn is null then 'CouldNotDetermineMessageSource'
                   when q.arn is null then 'AWS.SimpleQueueService.NonExistentQueue' end
from (select nullif(coalesce(p_destination, p_system ->> 'DeadLetterQueueSourceArn'), o.arn) as arn
      from queue.queues o where o.queue_id = p_queue_id) a
left join queue.queues q on q.arn = a.arn
$$;
