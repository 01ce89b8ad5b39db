-- queue.as_json(text): returns the text as JSON, or as a JSON string if it is not JSON. jsonb accepts neither U+0000
-- nor a surrogate without its other half, although JSON allows both as escapes (RFC 8259). The function replaces both
-- by U+FFFD. A text with a number or a nesting beyond the limits of jsonb becomes a string.
create or replace function queue.as_json(p_text text) returns jsonb
language plpgsql immutable as $$
begin
    return p_text::jsonb;
exception when data_exception or program_limit_exceeded then       -- malformed, or nested too deeply
    return coalesce(queue.escaped_json(p_text), to_jsonb(p_text));
end $$;
