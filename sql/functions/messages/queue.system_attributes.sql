-- queue.system_attributes: returns the system attributes of a message that an SQL function sends. The attributes are
-- the group of a message in a standard queue, and the message's trace. Returns null, as send_messages expects, if the
-- message has neither a group nor a trace.
create or replace function queue.system_attributes(p_group text, p_trace text) returns jsonb
language sql immutable parallel safe as $$
select nullif(jsonb_strip_nulls(jsonb_build_object('MessageGroupId', p_group, 'AWSTraceHeader', p_trace)), '{}')
$$;
