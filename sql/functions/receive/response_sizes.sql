-- How much of a response a message takes.

-- queue.fits: returns whether a message fits into a response of p_limit bytes. A null p_limit means no limit. `p_sizes`
-- is the column response_bytes of the message. A message without a size fits, because no receive has measured it.
-- PostgreSQL inlines this function.
create or replace function queue.fits(p_sizes jsonb, p_limit int, p_format text) returns boolean
language sql immutable parallel safe
return p_limit is null or coalesce((p_sizes ->> p_format)::int, 0) <= p_limit;

-- queue.json_bytes: returns the approximate length of a jsonb document, and 0 for null. Does not read an uncompressed
-- document.
create or replace function queue.json_bytes(p_document jsonb) returns int
language sql stable parallel safe as $$
select case when p_document is null then 0
    when pg_column_compression(p_document) is null then pg_column_size(p_document)
    else octet_length(p_document::text) end
$$;

-- queue.longest_message: returns the bytes of the longest message that this transaction has recorded
-- (note_long_message), or null.
create or replace function queue.longest_message() returns int
language sql stable as $$
select nullif(current_setting('queue.longest_message', true), '')::int
$$;

-- queue.response_bytes: returns the size of a message in a response. The size includes all attributes, even if the
-- request does not ask for attributes, so the size depends only on the message. `p_format` is a format of
-- encoded_bytes, which measures body and attributes exactly. For the text around body and attributes, the function adds
-- the maximum size. The maximum for a message is 1,000 bytes (json and xml) or 1,500 bytes (other formats). The maximum
-- for an attribute is 100 bytes (json) or 200 bytes (other formats).
create or replace function queue.response_bytes(p_message queue.received_row, p_format text) returns int
language sql stable as $$
select case when p_format in ('json', 'xml') then 1000 else 1500 end + queue.encoded_bytes(p_message.body, p_format)
    + coalesce((
        select sum(o.bytes + queue.encoded_bytes(a.key, p_format)
            + queue.encoded_bytes(a.value ->> 'DataType', p_format)
            + queue.encoded_bytes(coalesce(a.value ->> 'StringValue', a.value ->> 'BinaryValue', ''), p_format))
        from jsonb_each(p_message.attributes::jsonb) a), 0)
    + coalesce((
        select sum(o.bytes + queue.encoded_bytes(s.key, p_format) + queue.encoded_bytes(s.value, p_format))
        from jsonb_each_text(p_message.system::jsonb) s), 0)
from (select case p_format when 'json' then 100 else 200 end as bytes) o
$$;

-- queue.encoded_bytes: returns the exact length of a text as the value of a member in a response. The formats are:
--   `json` and `xml` mean the body of an HTTP response.
--   `function-json` and `function-xml` mean the result of a Lambda function. The result of a Lambda function is a JSON
--     string that contains JSON or XML, so the string escapes the inner text once more.
--   The suffix `-ascii` means that the runtime escapes characters beyond ASCII, as Python 3.11 does.
-- Measuring a MiB takes 2 to 50 ms.
create or replace function queue.encoded_bytes(p_text text, p_format text) returns int
language sql immutable parallel safe as $$
select case p_format when 'json' then octet_length(to_json(p_text)::text) - 2
    when 'xml' then octet_length(queue.xml_text(p_text))
    else (
        select case when p_format like '%-ascii' then queue.ascii_bytes(e.json) else octet_length(e.json) end - e.quotes
        from (
            select to_json(to_json(p_text)::text)::text as json, 6 as quotes where p_format like 'function-json%'
            union all
            select to_json(queue.xml_text(p_text))::text, 2 where p_format like 'function-xml%') e) end
$$;

-- queue.xml_text: returns a text as XML for the Query protocol. The functions `escape_text` and `write_document` in
-- penstock/aws/codec/xml.py are the counterparts in Python.
create or replace function queue.xml_text(p_text text) returns text
language sql immutable parallel safe as $$
select regexp_replace(
    replace(replace(replace(replace(replace(p_text, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'),
        E'\r', '&#xD;'),
    E'[\\u0001-\\u0008\\u000b\\u000c\\u000e-\\u001f\\ufffe\\uffff]', '?', 'g')
$$;

-- queue.ascii_bytes: returns the length of a JSON text with escaped characters. A character beyond ASCII, and U+007F,
-- becomes \uXXXX. A character beyond U+FFFF becomes two escapes.
create or replace function queue.ascii_bytes(p_json text) returns int
language sql immutable parallel safe as $$
select b.bytes - b.high + 6 * (char_length(p_json) - b.bytes + b.high)
    + 6 * char_length(regexp_replace(p_json, E'[^\\U00010000-\\U0010ffff]+', '', 'g'))
    + 5 * (b.bytes - octet_length(replace(p_json, E'\x7f', '')))
-- `high` is the number of bytes beyond ASCII, for which `escape` writes three more bytes. `escape` doubles a backslash.
from (
    select octet_length(p_json) as bytes, (
        octet_length(encode(convert_to(p_json, 'UTF8'), 'escape')) - octet_length(p_json)
        - (octet_length(p_json) - octet_length(replace(p_json, E'\\', '')))) / 3 as high) b
$$;
