-- queue.as_json(text): returns the text as JSON, or as a JSON string if it is not JSON.
create or replace function queue.as_json(p_text text) returns jsonb
language plpgsql immutable as $$
begin
    return p_text::jsonb;
exception when data_exception or program_limit_exceeded then       -- malformed, or nested too deeply
    return to_jsonb(p_text);
end $$;
