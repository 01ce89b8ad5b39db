-- queue.ascii_bytes(json): how long a JSON text is once its characters beyond ASCII, and U+007F, are written as \uXXXX,
-- those beyond U+FFFF as two of these.
create or replace function queue.ascii_bytes(p_json text) returns int
language sql immutable parallel safe as $$
select b.bytes - b.high + 6 * (char_length(p_json) - b.bytes + b.high)
    + 6 * char_length(regexp_replace(p_json, '[^\U00010000-\U0010ffff]+', '', 'g'))
    + 5 * (b.bytes - octet_length(replace(p_json, E'\x7f', '')))
from (      -- high: bytes of characters beyond ASCII, which `escape` writes with three bytes more; a backslash is doubled
    select octet_length(p_json) as bytes, (
        octet_length(encode(convert_to(p_json, 'UTF8'), 'escape')) - octet_length(p_json)
        - (octet_length(p_json) - octet_length(replace(p_json, '\', '')))) / 3 as high) b
$$;
