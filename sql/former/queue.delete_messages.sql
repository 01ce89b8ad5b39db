-- queue.delete_messages: with the handles of the previous release, which name no nonce and no message id.
-- Called by: DeleteMessage and DeleteMessageBatch of the previous release.
create or replace function queue.delete_messages(
    p_queue_ids int[], p_shards smallint[], p_positions bigint[], p_ids bigint[], p_receive_counts int[])
returns table (n int, outcome text)
language sql as $$
select * from queue.delete_messages(p_queue_ids, p_shards, p_positions, p_ids, p_receive_counts,
    array_fill(0, array[cardinality(p_ids)]), null)
$$;
