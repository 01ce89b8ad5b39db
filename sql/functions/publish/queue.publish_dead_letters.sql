-- queue.publish_dead_letters: sends messages that a subscribed queue has refused to the subscription's dead-letter
-- queue. Messages that the dead-letter queue refuses, too, become deliveries. Returns whether the function has stored
-- deliveries, of which the caller tells the workers. The subscription has a dead-letter queue.
create or replace function queue.publish_dead_letters(
    p_topic queue.topic, p_subscription queue.subscription, p_publications jsonb[]) returns boolean
language plpgsql as $$
declare
    v_failed jsonb[] := p_publications;
begin
    if p_subscription.dead_letter_queue_allowed then
        v_failed := queue.publish_to_queue(p_topic, p_subscription, p_subscription.dead_letter_arn, v_failed);
    end if;
    if v_failed is null then
        return false;
    end if;
    perform queue.publish_to_endpoint(p_topic, p_subscription, v_failed);
    return true;
end $$;
