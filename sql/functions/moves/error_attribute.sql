-- The attribute PenstockError of a message.

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
