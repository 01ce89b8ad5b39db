-- queue.trace_receive: records the messages that one receive returned from a queue with the attribute PenstockTrace.
-- Returns the number of rows. Each message has an element in each array. `p_sent_at_ms` is in milliseconds since 1970.
create or replace function queue.trace_receive(
    p_queue_id int, p_message_ids uuid[], p_public_ids bigint[], p_receive_counts int[], p_sent_at_ms bigint[],
    p_caller text, p_agent text)
returns table (traced bigint)
language sql as $$
with traced as (
    insert into queue.receive_trace (message_id, queue_id, receive_count, public_id, sent_at_ms, caller, agent)
    select u.message_id, p_queue_id, u.receive_count, u.public_id, u.sent_at_ms, left(p_caller, 512), left(p_agent, 200)
    from unnest(p_message_ids, p_public_ids, p_receive_counts, p_sent_at_ms)
        u(message_id, public_id, receive_count, sent_at_ms)
    returning 1)
select count(*) from traced
$$;
