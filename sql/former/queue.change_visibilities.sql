-- queue.change_visibilities: with the handles of the previous release, which name no nonce and no message id.
-- Called by: ChangeMessageVisibility and ChangeMessageVisibilityBatch of the previous release.
create or replace function queue.change_visibilities(
    p_queue_ids int[], p_shards smallint[], p_positions bigint[], p_ids bigint[], p_receive_counts int[],
    p_visibility_seconds int[])
returns table (n int, outcome text, visible_at_ms bigint)
language sql as $$
select * from queue.change_visibilities(p_queue_ids, p_shards, p_positions, p_ids, p_receive_counts,
    array_fill(0, array[cardinality(p_ids)]), null, p_visibility_seconds)
$$;
