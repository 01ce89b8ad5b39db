-- Conversions between texts, headers and JSON.

-- queue.as_attributes: converts headers to message attributes. A text becomes String, a number becomes Number, and
-- other JSON becomes String.json.
create or replace function queue.as_attributes(p_headers jsonb) returns jsonb
language sql immutable as $$
select jsonb_object_agg(h.key, jsonb_build_object(
    'DataType', case jsonb_typeof(h.value)
        when 'string' then 'String' when 'number' then 'Number' else 'String.json' end,
    'StringValue', case when jsonb_typeof(h.value) = 'string' then h.value #>> '{}' else h.value::text end))
from jsonb_each(p_headers) h
$$;

-- queue.as_headers: converts message attributes to headers, as the inverse of queue.as_attributes. Binary values stay
-- base64 texts.
create or replace function queue.as_headers(p_attributes jsonb) returns jsonb
language sql immutable as $$
select coalesce(jsonb_object_agg(a.key, case a.value ->> 'DataType'
    when 'Number' then queue.as_json(a.value ->> 'StringValue')
    when 'String.json' then queue.as_json(a.value ->> 'StringValue')
    else coalesce(a.value -> 'StringValue', a.value -> 'BinaryValue') end), '{}')
from jsonb_each(p_attributes) a
$$;

-- queue.as_json: returns a text as JSON, or as a JSON string if the text is not JSON. jsonb refuses U+0000 and lone
-- surrogates, although JSON allows both as escapes (RFC 8259). Replaces these characters with U+FFFD. A text whose
-- number or nesting exceeds the limits of jsonb becomes a string.
create or replace function queue.as_json(p_text text) returns jsonb
language plpgsql immutable as $$
begin
    return p_text::jsonb;
exception when data_exception or program_limit_exceeded then       -- The text is malformed or nested too deeply.
    return coalesce(queue.escaped_json(p_text), to_jsonb(p_text));
end $$;

-- queue.escaped_json: returns a text that jsonb refuses as JSON, with U+FFFD in place of U+0000 and lone surrogates.
-- Returns null if jsonb also refuses the result.
create or replace function queue.escaped_json(p_text text) returns jsonb
language plpgsql immutable as $$
begin
    if p_text !~ E'\\\\u(0000|[dD][89a-fA-F])' then
        return null;
    end if;
    -- An escape begins with an odd number of backslashes. After the second replacement, each high surrogate has a low
    -- surrogate.
    return regexp_replace(regexp_replace(regexp_replace(p_text,
        E'(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', E'\\1\\\\ufffd', 'g'),
        $re$(?<!\\)((?:\\\\)*)\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})$re$, E'\\1\\\\ufffd', 'g'),
        $re$(?<!\\)((?:\\\\)*)(?<!(?<!\\)(?:\\\\)*\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}$re$,
        E'\\1\\\\ufffd', 'g')::jsonb;
exception when data_exception or program_limit_exceeded then
    return null;
end $$;
