-- Messages that move to a dead-letter queue.

-- queue.dead_letter_columns: returns the columns that a message gets in its dead-letter queue, whichever table it comes
-- from. The caller adds the columns that only its table has. `p_receive_count` and `p_first_received_at` are the
-- message's values in the source queue. Is written in PL/pgSQL, as are add_move and failure_columns, because PostgreSQL
-- plans a SQL function that has a query again for each message, which took 0.7 ms (2026-11-30).
create or replace function queue.dead_letter_columns(
    p_queue_id int, p_target_id int, p_moved_at timestamptz, p_public_id bigint, p_message_id uuid,
    p_sent_at timestamptz, p_system jsonb, p_attributes jsonb, p_receive_count int, p_first_received_at timestamptz)
returns jsonb
language plpgsql stable as $$
declare
    v_arn text := (select q.arn from queue.queues q where q.queue_id = p_queue_id);
begin
    return jsonb_build_object('queue_id', p_target_id, 'visible_at', p_moved_at, 'receive_count', 0,
        'first_received_at', null, 'redelivered_at', null,
        'system', queue.dead_letter_system(v_arn, p_system, p_receive_count, p_first_received_at)
            || queue.add_move('dead_lettered', p_moved_at, v_arn, p_public_id, p_message_id::text, p_sent_at,
                p_receive_count, p_first_received_at, p_system))
        || queue.failure_columns(p_queue_id, p_message_id, p_attributes);
end $$;

-- queue.side_dead_letter_columns: returns the columns that a message of a standard queue gets in its dead-letter queue.
-- `p_shard` and `p_id` are the message's values in the source queue. The other parameters are those of
-- dead_letter_columns. PostgreSQL inlines this function.
create or replace function queue.side_dead_letter_columns(
    p_queue_id int, p_target_id int, p_moved_at timestamptz, p_shard int, p_id bigint, p_message_id uuid,
    p_sent_at timestamptz, p_system jsonb, p_attributes jsonb, p_receive_count int, p_first_received_at timestamptz)
returns jsonb
language sql volatile as $$
select jsonb_build_object('id', nextval('queue.side_id'), 'shard', queue.side_shard(), 'entered_at', p_moved_at)
    || queue.dead_letter_columns(p_queue_id, p_target_id, p_moved_at, queue.public_id(p_shard, p_id), p_message_id,
        p_sent_at, p_system, p_attributes, p_receive_count, p_first_received_at)
$$;

-- queue.dead_letter_system: returns the system attributes of a message that moves to a dead-letter queue. Adds the ARN
-- of the source queue, the receive count and the time of the first receive, which can be null. ApproximateReceiveCount
-- counts "across all queues" (ReceiveMessage, API reference).
create or replace function queue.dead_letter_system(
    p_arn text, p_system jsonb, p_receive_count int, p_first_received_at timestamptz)
returns jsonb
language sql stable as $$
select jsonb_strip_nulls(coalesce(p_system, '{}') || jsonb_build_object(
    'DeadLetterQueueSourceArn', p_arn,
    'ApproximateReceiveCount', (coalesce((p_system ->> 'ApproximateReceiveCount')::int, 0) + p_receive_count)::text,
    'ApproximateFirstReceiveTimestamp', coalesce(p_system ->> 'ApproximateFirstReceiveTimestamp',
        queue.epoch_ms(p_first_received_at)::text)))
$$;

-- queue.failure_columns: returns the columns of a dead letter that its last failure changes, or an empty object if the
-- message has no failure. The columns are `attributes`, with the attribute PenstockError, and `response_bytes`, because
-- the size is different. Uses the index failure_pkey.
create or replace function queue.failure_columns(p_queue_id int, p_message_id uuid, p_attributes jsonb) returns jsonb
language plpgsql stable as $$
begin
    return coalesce((
        select jsonb_build_object('attributes', queue.with_error(p_attributes, f.error), 'response_bytes', null)
        from queue.failure f where f.queue_id = p_queue_id and f.message_id = p_message_id
        order by f.receive_count desc limit 1), '{}');
end $$;

-- queue.note_dead_lettered: counts the messages that a receive has moved to a dead-letter queue, and notifies the
-- processes that wait for messages of the dead-letter queue. A receive calls this function only if it has moved
-- messages.
create or replace function queue.note_dead_lettered(p_queue_id int, p_target_id int, p_target_arn text, p_messages int)
returns void
language plpgsql as $$
begin
    insert into queue.outcome_count (queue_id, dead_lettered) values (p_queue_id, p_messages);
    insert into queue.activity (queue_id, sent, dead_lettered)
    values (p_queue_id, 0, p_messages), (p_target_id, p_messages, 0);
    perform queue.notify_watchers(p_target_id, p_target_arn);
end $$;

-- queue.clean_error: returns the first 1,024 characters of an error. Characters that a message attribute cannot have
-- ("SendMessage", API reference) become U+FFFD.
create or replace function queue.clean_error(p_error text) returns text
language sql immutable parallel safe
return regexp_replace(left(p_error, 1024), $re$[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]$re$, E'\ufffd', 'g');

-- queue.with_error: returns message attributes with the attribute PenstockError, which says why the message failed.
-- Returns the attributes unchanged if the error is null or empty. Cuts the error to 1,024 characters. Replaces
-- characters that a message attribute cannot have ("SendMessage", API reference).
create or replace function queue.with_error(p_attributes jsonb, p_error text) returns jsonb
language sql immutable parallel safe
return case when p_error <> '' then coalesce(p_attributes, '{}') || jsonb_build_object('PenstockError',
        jsonb_build_object('DataType', 'String', 'StringValue', queue.clean_error(p_error)))
    else p_attributes end;

-- queue.without_error: returns message attributes without PenstockError, for a message that leaves a dead-letter queue.
create or replace function queue.without_error(p_attributes jsonb) returns jsonb
language sql immutable parallel safe
return case when p_attributes ? 'PenstockError' then nullif(p_attributes - 'PenstockError', '{}') else p_attributes end;
