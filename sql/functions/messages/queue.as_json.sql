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
