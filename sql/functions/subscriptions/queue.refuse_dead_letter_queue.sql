-- queue.refuse_dead_letter_queue: stops messages of a subscription to its dead-letter queue. `found` says whether the
-- subscription exists. A later change of the dead-letter queue's policy can allow the messages again.
create or replace function queue.refuse_dead_letter_queue(p_arn text) returns table (found boolean)
language plpgsql as $$
begin
    update queue.subscription s set dead_letter_queue_allowed = false where s.arn = p_arn;
    return query select found;
end $$;
