-- queue.remove_group_messages: deletes messages of a FIFO group that move to another queue, and records them in the
-- history. Returns the messages as they were, in their order. `p_outcome` is `dead_lettered` or `moved`. The caller has
-- locked the group's row.
create or replace function queue.remove_group_messages(
    p_queue_id int, p_group_key bigint, p_ids bigint[], p_outcome text, p_now timestamptz)
returns setof queue.fifo_message
language plpgsql as $$
begin
    return query
    with gone as (
        delete from queue.fifo_message m where m.id = any (p_ids) and m.group_key = p_group_key returning m.*),
    recorded as (
        insert into queue.history
        select h.* from gone g
        cross join lateral queue.history_row(
            p_queue_id => p_queue_id, p_outcome => p_outcome, p_system => g.system,
            p_receive_count => g.receive_count, p_first_received_at => g.first_received_at,
            p_redelivered_at => g.redelivered_at, p_sent_at => g.sent_at, p_entered_at => null,
            p_finished_at => p_now) h
        where (select q.keeps_history from queue.queues q where q.queue_id = p_queue_id))
    select g.* from gone g order by g.id;
end $$;
