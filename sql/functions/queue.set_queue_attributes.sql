-- queue.set_queue_attributes(arn, attributes): replaces the given attributes; a null value removes one.
-- Returns one row: error QueueDoesNotExist or null. Called by: SetQueueAttributes, PATCH /v1/queues/{name}.
create or replace function queue.set_queue_attributes(p_arn text, p_attributes jsonb)
returns table (error text)
language plpgsql as $$
begin
    update queue.queues q
    set attributes = jsonb_strip_nulls(q.attributes || p_attributes), modified_at = clock_timestamp()
    where q.arn = p_arn;
    return query select case when not found then 'QueueDoesNotExist' end;
end $$;
