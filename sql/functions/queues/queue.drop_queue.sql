-- queue.drop_queue: deletes a queue. Receives no longer return the queue's messages. The function maintain_installation
-- later removes the messages' rows. Subscriptions of other accounts cannot deliver to a later queue of this name until
-- its policy allows it. `error` is QueueDoesNotExist or null.
create or replace function queue.drop_queue(p_arn text) returns table (error text)
language plpgsql as $$
declare
    v_queue_id int;
begin
    delete from queue.queues q where q.arn = p_arn returning q.queue_id into v_queue_id;
    if v_queue_id is null then
        return query select 'QueueDoesNotExist'::text;
        return;
    end if;
    update queue.subscription s set target_allowed = false
    where s.protocol = 'sqs' and s.endpoint = p_arn and s.owner <> split_part(p_arn, ':', 5);
    update queue.subscription s set dead_letter_queue_allowed = false
    where s.dead_letter_arn = p_arn and s.owner <> split_part(p_arn, ':', 5);
    insert into queue.dropped_queue (queue_id, arn) values (v_queue_id, p_arn);
    return query select null::text;
end $$;
