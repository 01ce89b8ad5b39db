-- queue.foreign_subscriptions(): returns the subscriptions with a queue of another account as endpoint or dead-letter
-- queue, unless they are refused already, with the queue's policy (null: no policy, or no such queue).
create or replace function queue.foreign_subscriptions()
returns table (arn text, owner text, topic_arn text, queue_arn text, policy text, is_dead_letter_queue boolean)
language sql stable as $$
select s.arn, s.owner, t.arn, k.arn, q.attributes ->> 'Policy', k.is_dead_letter_queue
from queue.subscription s
join queue.topic t on t.topic_id = s.topic_id
cross join lateral (
    select s.endpoint, false where s.protocol = 'sqs' and s.target_allowed
    union all
    select s.dead_letter_arn, true where s.dead_letter_arn is not null
        and s.dead_letter_queue_allowed) k(arn, is_dead_letter_queue)
left join queue.queues q on q.arn = k.arn
where split_part(k.arn, ':', 5) <> s.owner
order by k.arn, s.arn
$$;
