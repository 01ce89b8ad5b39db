-- queue.subscriptions_of_queue: returns the subscriptions that use a queue as endpoint or dead-letter queue. Uses the
-- indexes subscription_endpoint and subscription_dead_letters.
create or replace function queue.subscriptions_of_queue(p_arn text)
returns table (subscription_id uuid, owner text, topic_arn text)
language sql stable as $$
select s.subscription_id, s.owner, t.arn
from (
    select e.subscription_id, e.owner, e.topic_id from queue.subscription e where e.protocol = 'sqs'
        and e.endpoint = p_arn
    union
    select d.subscription_id, d.owner, d.topic_id from queue.subscription d where d.dead_letter_arn = p_arn) s
join queue.topic t on t.topic_id = s.topic_id
$$;
