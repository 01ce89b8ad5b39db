-- queue.note_dead_lettered: counts the messages that a receive has moved to a dead-letter queue, and notifies the
-- processes that wait for messages of the dead-letter queue. A receive calls this function only if it has moved
-- messages.
create or replace function queue.note_dead_lettered(p_queue_id int, p_target_id int, p_target_arn text, p_messages int)
returns void
language plpgsql as $$
begin
    insert into queue.outcome_count (queue_id, dead_lettered) values (p_queue_id, p_messages);
    insert into queue.activity (queue_id, sent, dead_lettered)
    values (p_queue_id, 0, p_messages), (p_target_id, p_messages, 0);
    perform queue.notify_watchers(p_target_id, p_target_arn);
end $$;
