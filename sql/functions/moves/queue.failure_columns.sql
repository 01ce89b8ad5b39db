-- queue.failure_columns(queue, message id, attributes): returns the columns of a dead letter that its last failure
-- changes, or an empty object if the message has no failure. The columns are `attributes`, with the attribute
-- PenstockError, and `response_bytes`, because the size is different. Uses the index failure_pkey.
create or replace function queue.failure_columns(p_queue_id int, p_message_id uuid, p_attributes jsonb) returns jsonb
language sql stable as $$
select coalesce((
    select jsonb_build_object('attributes', queue.with_error(p_attributes, f.error), 'response_bytes', null)
    from queue.failure f where f.queue_id = p_queue_id and f.message_id = p_message_id
    order by f.receive_count desc limit 1), '{}')
$$;
