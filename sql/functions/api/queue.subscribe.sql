-- queue.subscribe(pattern, queue): the queue gets events whose routing key matches the pattern; again changes nothing.
-- Returns the binding's id. Raises QU001 (undefined queue), QU003 (not a pattern). SQL interface.
create or replace function queue.subscribe(p_pattern text, p_queue_name text) returns bigint
language sql volatile as $$
select b.binding_id from queue.bind('000000000000', 'us-east-1', p_pattern, 'queue', queue.resolve(p_queue_name), false,
    null, null) b
$$;
