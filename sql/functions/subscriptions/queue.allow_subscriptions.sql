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
