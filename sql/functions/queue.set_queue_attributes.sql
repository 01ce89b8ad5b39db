-- queue.set_queue_attributes(arn, attributes): replaces the given attributes; a null value removes one.
-- Returns one row: error QueueDoesNotExist, ScopeNeeded (high throughput without DeduplicationScope messageGroup, given
-- or not; nothing was changed) or null. Locks: the queue's row. Called by: SetQueueAttributes, PATCH /v1/queues/{name}.
create or replace function queue.set_queue_attributes(p_arn text, p_attributes jsonb)
returns table (error text)
language plpgsql as $$
declare
    v_attributes jsonb;
begin
    select jsonb_strip_nulls(q.attributes || p_attributes) into v_attributes
    from queue.queues q where q.arn = p_arn for no key update;
    if v_attributes ->> 'FifoThroughputLimit' = 'perMessageGroupId'
        and v_attributes ->> 'DeduplicationScope' is distinct from 'messageGroup'
    then
        return query select 'ScopeNeeded'::text;
        return;
    end if;
    update queue.queues q set attributes = v_attributes, modified_at = clock_timestamp() where q.arn = p_arn;
    return query select case when not found then 'QueueDoesNotExist' end;
end $$;
