-- queue.system_attributes(group, trace header): the system attributes of a message that SQL functions send: the tenant
-- of a standard queue's message, and the trace that it belongs to. Null when there is neither, as send_messages wants
-- it.
create or replace function queue.system_attributes(p_group text, p_trace text) returns jsonb
language sql immutable parallel safe as $$
select nullif(jsonb_strip_nulls(jsonb_build_object('MessageGroupId', p_group, 'AWSTraceHeader', p_trace)), '{}')
$$;
