-- queue.refuse_dead_letter_queue(subscription's ARN): its dead-letter queue gets no more messages, until that queue's policy
-- changes and allows it. Returns one row: whether there is such a subscription.
create or replace function queue.refuse_dead_letter_queue(p_arn text) returns table (found boolean)
language plpgsql as $$
begin
    update queue.subscription s set dead_letter_queue_allowed = false where s.arn = p_arn;
    return query select found;
end $$;
