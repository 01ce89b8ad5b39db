-- queue.with_error: returns message attributes with the attribute PenstockError, which says why the message failed.
-- Returns the attributes unchanged if the error is null or empty. Cuts the error to 1,024 characters. Replaces
-- characters that a message attribute cannot have ("SendMessage", API reference).
create or replace function queue.with_error(p_attributes jsonb, p_error text) returns jsonb
language sql immutable parallel safe
return case when p_error <> '' then coalesce(p_attributes, '{}') || jsonb_build_object('PenstockError',
        jsonb_build_object('DataType', 'String', 'StringValue', queue.clean_error(p_error)))
    else p_attributes end;
