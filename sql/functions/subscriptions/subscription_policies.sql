-- What queues' policies allow to topics of other accounts.

-- queue.allow_subscriptions: stores which subscriptions can deliver to a queue according to the queue's policy. Both
-- lists are null if the service does not check policies (QUEUE_ACCESS is not sigv4). Returns false and changes nothing
-- if a subscription is in neither list. A subscription in neither list was added after the caller read the
-- subscriptions. The caller has locked the queue's row, so add_subscription waits. Uses the indexes
-- subscription_endpoint and subscription_dead_letters.
create or replace function queue.allow_subscriptions(p_arn text, p_allowed uuid[], p_refused uuid[]) returns boolean
language plpgsql as $$
begin
    if p_allowed is null then
        return true;
    end if;
    if exists (
        select from queue.subscriptions_of_queue(p_arn) s where s.subscription_id <> all (p_allowed || p_refused))
    then
        return false;
    end if;
    update queue.subscription s set target_allowed = not s.target_allowed
    where s.protocol = 'sqs' and s.endpoint = p_arn and s.target_allowed <> (s.subscription_id = any (p_allowed));
    update queue.subscription s set dead_letter_queue_allowed = not s.dead_letter_queue_allowed
    where s.dead_letter_arn = p_arn and s.dead_letter_queue_allowed <> (s.subscription_id = any (p_allowed));
    return true;
end $$;

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

-- queue.policies_changed: returns whether the policy of a queue differs from the policy that the caller read.
-- `p_policies` contains policies by ARN, in JSON. A null policy means that the queue has no policy or does not exist.
-- If p_policies is null, the service does not check policies. Takes shared locks on the queues' rows until commit, so
-- that their policies do not change.
create or replace function queue.policies_changed(p_policies jsonb) returns boolean
language plpgsql as $$
begin
    perform from queue.queues q
    where q.arn in (select k from jsonb_object_keys(p_policies) k) order by q.arn for share;
    return exists (
        select from jsonb_each_text(p_policies) k left join queue.queues q on q.arn = k.key
        where q.attributes ->> 'Policy' is distinct from k.value);
end $$;

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
