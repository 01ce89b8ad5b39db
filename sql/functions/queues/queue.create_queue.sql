-- queue.create_queue: creates a queue. Returns the queue's ARN. If the queue exists with the supplied attributes'
-- values, only returns the queue's ARN.
--   `p_supplied` contains the attributes from the request.
--   `p_defaults` contains the values of the other attributes.
--   `p_shards` is the number of concurrent writers.
--   `p_recreate_seconds` is how long the name of a deleted queue is refused. A value of 0 means that the name is never
--     refused.
--   `error` is QueueNameExists or QueueDeletedRecently. For QueueNameExists, `detail` is the attribute that differs.
create or replace function queue.create_queue(
    p_account_id text, p_region text, p_name text, p_supplied jsonb, p_defaults jsonb, p_tags jsonb, p_shards int,
    p_recreate_seconds int)
returns table (arn text, created boolean, error text, detail text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_arn text := format('arn:aws:sqs:%s:%s:%s', p_region, p_account_id, p_name);
    v_queue queue.queues;
begin
    if p_recreate_seconds > 0 and exists (
        select from queue.dropped_queue d
        where d.arn = v_arn
            and d.dropped_at between clock_timestamp() - p_recreate_seconds * interval '1 second' and clock_timestamp())
    then
        return query select v_arn, false, 'QueueDeletedRecently'::text, p_recreate_seconds::text;
        return;
    end if;
    insert into queue.queues (account_id, region, name, shards, attributes, tags)
    values (p_account_id, p_region, p_name, p_shards, p_defaults || p_supplied, coalesce(p_tags, '{}'))
    on conflict do nothing
    returning * into v_queue;
    if found then
        insert into queue.lease (pos, first_id, visible_at, watermark, low, queue_id, receive_count, shard, ids)
        select 0, 1, '-infinity', '-infinity', 0, v_queue.queue_id, 0, s, '{}'
        from generate_series(0, p_shards - 1) s
        where not v_queue.fifo;
        insert into queue.noisy_neighbors (queue_id) select v_queue.queue_id where not v_queue.fifo;
        return query select v_arn, true, null::text, null::text;
        return;
    end if;
    select * into v_queue from queue.queues q where q.arn = v_arn;
    return query
    select v_arn, false, case when d.attribute is not null then 'QueueNameExists' end, d.attribute
    from queue.differing_attribute(v_queue.attributes, p_supplied) d(attribute);
end $$;
