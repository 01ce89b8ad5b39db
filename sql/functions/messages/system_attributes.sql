-- The system attributes and the size of a message.

-- queue.client_system: returns the system attributes that clients see. The function removes EnteredBy (entered_by),
-- Moves, FirstSentAt and FirstSentTo (add_move). A message that has Moves, FirstSentAt or FirstSentTo also has
-- EnteredBy. PostgreSQL inlines this function.
create or replace function queue.client_system(p_system jsonb) returns jsonb
language sql immutable parallel safe
return case when p_system ? 'EnteredBy'
    then nullif(p_system - array['EnteredBy', 'Moves', 'FirstSentAt', 'FirstSentTo'], '{}') else p_system end;

-- queue.entered_by: returns how a message entered its queue, as dead_lettered or moved (add_move). Returns null for
-- a message that was sent. PostgreSQL inlines this function.
create or replace function queue.entered_by(p_system jsonb) returns text
language sql immutable parallel safe
return case when p_system ? 'DeadLetterQueueSourceArn' then 'dead_lettered' else p_system ->> 'EnteredBy' end;

-- queue.system_attributes: returns the system attributes of a message that an SQL function sends. The attributes are
-- the group of a message in a standard queue, and the message's trace. Returns null, as send_messages expects, if the
-- message has neither a group nor a trace.
create or replace function queue.system_attributes(p_group text, p_trace text) returns jsonb
language sql immutable parallel safe as $$
select nullif(jsonb_strip_nulls(jsonb_build_object('MessageGroupId', p_group, 'AWSTraceHeader', p_trace)), '{}')
$$;

-- queue.message_size: returns the bytes of a message as SQS counts them: the body, and the names, types and values of
-- its attributes. For binary values, counts the base64 text, which is slightly longer than what SQS counts.
create or replace function queue.message_size(p_body text, p_attributes jsonb) returns int
language sql immutable parallel safe as $$
select octet_length(p_body) + coalesce((
    select sum(octet_length(a.key) + octet_length(a.value ->> 'DataType')
        + coalesce(octet_length(a.value ->> 'StringValue'), octet_length(a.value ->> 'BinaryValue'), 0))
    from jsonb_each(p_attributes) a), 0)::int
$$;

-- queue.epoch_ms: returns the milliseconds since 1970, the unit of SentTimestamp.
create or replace function queue.epoch_ms(p_at timestamptz) returns bigint
language sql stable parallel safe
return (date_part('epoch', p_at) * 1000)::bigint;
