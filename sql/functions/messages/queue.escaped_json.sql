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
