-- queue.count_expired(queue, messages): counts expired messages in the queue's minutes and in its measurement.
create or replace function queue.count_expired(p_queue_id int, p_messages bigint) returns void
language plpgsql as $$
begin
    if p_messages > 0 then
        insert into queue.activity (queue_id, expired) values (p_queue_id, p_messages);
        insert into queue.outcome_count (queue_id, expired) values (p_queue_id, p_messages);
    end if;
end $$;
