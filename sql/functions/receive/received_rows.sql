-- The rows that a receive returns.

-- queue.build_received_row: returns a message in the format of a receive. A new column must be added to the type
-- queue.received_row in the baseline, and to the row in this function. The function send_moved reads columns of the
-- type. The caller passes the message as a row of the message's table. For a message of the log, the caller also passes
-- the lease's position, receive count, first receive, end and nonce. Records messages of more than 12,000 bytes for
-- receive_response (note_long_message). PostgreSQL inlines this function at no cost if its arguments are neither
-- volatile nor subqueries.
create or replace function queue.build_received_row(
    p_log queue.log default null, p_pos bigint default 0, p_receive_count int default null,
    p_first_received_at timestamptz default null, p_visible_at timestamptz default null, p_nonce int default null,
    p_side queue.side default null, p_fifo queue.fifo_message default null)
returns setof queue.received_row
language sql stable as $$
select null::text, null::int,
    coalesce((p_log).queue_id, (p_side).queue_id, (p_fifo).queue_id),
    coalesce((p_log).shard, (p_side).shard, queue.fifo_shard()::smallint),
    p_pos,
    coalesce((p_log).id, (p_side).id, (p_fifo).id),
    coalesce(p_receive_count, (p_side).receive_count, (p_fifo).receive_count),
    coalesce((p_log).message_id, (p_side).message_id, (p_fifo).message_id)::text,
    queue.epoch_ms(coalesce((p_log).sent_at, (p_side).sent_at, (p_fifo).sent_at)),
    queue.epoch_ms(coalesce(p_first_received_at, (p_side).first_received_at, (p_fifo).first_received_at)),
    case when b.bytes > 12000
        then queue.note_long_message(coalesce((p_log).body, (p_side).body, (p_fifo).body), b.bytes)
        else coalesce((p_log).body, (p_side).body, (p_fifo).body) end,
    coalesce((p_log).attributes, (p_side).attributes, (p_fifo).attributes)::text,
    coalesce(queue.client_system((p_log).system), queue.client_system((p_side).system),
        queue.client_system((p_fifo).system)
            || jsonb_build_object('MessageDeduplicationId', (p_fifo).deduplication_id))::text,
    queue.public_id(coalesce((p_log).shard, (p_side).shard, queue.fifo_shard()),
        coalesce((p_log).id, (p_side).id, (p_fifo).id)),
    queue.epoch_ms(coalesce(p_visible_at, (p_side).visible_at, (p_fifo).visible_at)),
    p_nonce
from (
    select octet_length(coalesce((p_log).body, (p_side).body, (p_fifo).body))
        + queue.json_bytes(coalesce((p_log).attributes, (p_side).attributes, (p_fifo).attributes))
        + queue.json_bytes(coalesce((p_log).system, (p_side).system, (p_fifo).system)) as bytes) b
$$;

-- queue.note_long_message: returns the body, and records its length for this transaction (longest_message). Is declared
-- STABLE although it sets a value, because PostgreSQL would not inline build_received_row with a volatile function.
create or replace function queue.note_long_message(p_body text, p_bytes int) returns text
language plpgsql stable as $$
begin
    perform set_config('queue.longest_message', greatest(p_bytes, queue.longest_message())::text, true);
    return p_body;
end $$;

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
