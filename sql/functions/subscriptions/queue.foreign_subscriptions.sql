-- queue.foreign_subscriptions: returns the subscriptions that use a queue of another account, with the queue's policy.
-- The queue is the endpoint or the dead-letter queue. A null policy means that the queue has no policy or does not
-- exist. Omits subscriptions that are already refused.
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
