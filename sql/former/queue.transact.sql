-- queue.transact: with the handles of the previous release, which name no nonce and no message id.
-- Called by: POST /v1/transactions of the previous release.
drop function if exists queue.transact(int[], smallint[], bigint[], bigint[], int[], text[], uuid[], text[], int[], jsonb[], jsonb[], int[], text[], text[], text, text, text[], text[], jsonb[], jsonb[], jsonb[], int[], text);
create function queue.transact(
    p_queue_ids int[], p_shards smallint[], p_positions bigint[], p_ids bigint[], p_receive_counts int[],
    p_queues text[], p_message_ids uuid[], p_bodies text[], p_sizes int[], p_attributes jsonb[], p_system jsonb[],
    p_delays int[], p_groups text[], p_deduplication_ids text[],
    p_account_id text, p_region text, p_keys text[], p_event_bodies text[], p_event_attributes jsonb[],
    p_event_headers jsonb[], p_event_facts jsonb[], p_event_delays int[], p_trace text)
returns table (kind text, n int, arn text, id bigint, error text, detail text)
language sql as $$
select * from queue.transact(p_queue_ids, p_shards, p_positions, p_ids, p_receive_counts,
    array_fill(0, array[cardinality(p_ids)]), null, p_queues, p_message_ids, p_bodies, p_sizes, p_attributes, p_system,
    p_delays, p_groups, p_deduplication_ids, p_account_id => p_account_id, p_region => p_region, p_keys => p_keys,
    p_event_bodies => p_event_bodies, p_event_attributes => p_event_attributes, p_event_headers => p_event_headers,
    p_event_facts => p_event_facts, p_event_delays => p_event_delays, p_trace => p_trace)
$$;
